;;; modellint.el --- modellint through eglot  -*- lexical-binding: t -*-

;; Emacs 29 and later has eglot; before, install it from GNU ELPA. `M-x eglot' in a Python or Rust buffer starts the
;; server, `eglot-code-actions' applies a fix. A buffer has one server: where another one is wanted beside this,
;; put a multiplexer such as lspx in front.

;;; Code:

(require 'eglot)

(defgroup modellint nil "A linter for PyTorch models." :group 'tools)

(defcustom modellint-command '("modellint" "server")
  "The command that starts the server."
  :type '(repeat string))

(defcustom modellint-settings nil
  "A property list of settings, such as (:ignore [\"ML201\"])."
  :type 'plist)

(defun modellint-contact (&rest _)
  "Return what eglot needs to start the server."
  (append modellint-command
          (and modellint-settings (list :initializationOptions (list :settings modellint-settings)))))

(add-to-list 'eglot-server-programs
             '((python-mode python-ts-mode rust-mode rust-ts-mode) . modellint-contact))

;;;###autoload
(defun modellint-trace ()
  "Trace the models of the configuration.
What is found is shown in the lines of the models, in all buffers of the project."
  (interactive)
  (let ((server (or (eglot-current-server) (user-error "This buffer has no server: M-x eglot"))))
    (jsonrpc-async-request server :workspace/executeCommand '(:command "modellint.trace")
                           :success-fn #'ignore
                           :error-fn (lambda (problem) (message "modellint: %s" (plist-get problem :message)))
                           :timeout nil)
    (message "modellint: tracing")))

(provide 'modellint)
;;; modellint.el ends here
