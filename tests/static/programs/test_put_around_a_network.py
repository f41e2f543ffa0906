"""Networks run through something put around them: an autograd switch, a call that brings the parameters."""

from __future__ import annotations

from tests.static.conftest import Lint


def test_a_switch_put_around_a_network(lint: Lint) -> None:
    lint(
        """
        import torch
        from torchvision.models import resnet18

        def predict(x):
            net = resnet18(weights="DEFAULT").eval()
            run = torch.no_grad()(net)
            return run(x).argmax(1).tolist()

        def predict_by_forward(x):
            net = resnet18(weights="DEFAULT").eval()
            run = torch.inference_mode()(net.forward)
            return run(x).argmax(1).tolist()

        def predict_active(x):
            net = resnet18(weights="DEFAULT")
            run = torch.no_grad()(net)
            return run(x).argmax(1).tolist()  # ML101

        def predict_recorded(x):
            net = resnet18(weights="DEFAULT").eval()
            run = torch.enable_grad()(net)  # ML202
            return run(x).argmax(1).tolist()
        """
    )


def test_a_call_that_brings_the_parameters(lint: Lint) -> None:
    lint(
        """
        import torch
        from torch.func import functional_call
        from torch.nn import functional as F
        from torchvision.models import resnet18

        def predict(x, parameters):
            net = resnet18().eval()
            return functional_call(net, parameters, (x,)).argmax(1).tolist()

        def predict_unseen(x, parameters):
            net = resnet18()
            functional_call(net, parameters, (x,))
            net.eval()
            with torch.no_grad():
                return net(x).argmax(1).tolist()  # ML401

        def learn(x, y, parameters):
            net = resnet18()
            loss = F.cross_entropy(functional_call(net, parameters, x), y)
            loss.backward()
        """
    )
