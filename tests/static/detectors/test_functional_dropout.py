"""Functional dropout, attention and batch norm: ML104."""

from __future__ import annotations

import pytest

from tests.static.conftest import Lint

HEADER = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Block(nn.Module):\n"
SILENT = {
    "under another name, with the flag": """
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.drop = F.dropout

    def forward(self, q, k, v):
        attend = F.scaled_dot_product_attention
        q = self.drop(q, self.p, self.training)
        return attend(q, k, v, dropout_p=self.p if self.training else 0.0)
    """,
    "what an autograd function keeps for its backward": """
    @staticmethod
    def recompute(ctx, grad):
        q, k, v = ctx.saved_tensors
        return F.scaled_dot_product_attention(q, k, v, dropout_p=ctx.dropout_p)
    """,
    "the flag has a name": """
    def forward(self, x):
        drops = self.p > 0 and self.training
        if drops:
            x = F.dropout(x, self.p)
        return x
    """,
    "a conjunction with the flag": """
    def forward(self, x):
        return F.dropout(x, self.p, self.training and self.enabled)
    """,
    "an argument of forward": """
    def forward(self, x, training=False):
        return F.dropout(x, self.p, training=training)
    """,
    "an argument of forward with the flag": """
    def forward(self, x, use_dropout=True):
        return F.dropout(x, self.p, training=use_dropout and self.training)
    """,
    "a probability times the flag": """
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training)
    """,
    "a probability assigned in a branch": """
    def forward(self, q, k, v):
        dropout_p = 0.0
        if self.training:
            dropout_p = self.p
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    """,
    "a module's probability": """
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop.p if self.training else 0)
    """,
    "a helper that takes the probability": """
    def attend(self, q, k, v, dropout_p):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)

    def forward(self, q, k, v):
        return self.attend(q, k, v, dropout_p=self.p if self.training else 0.0)
    """,
    "no probability at all": """
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    """,
    "a probability of nought": """
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, None, 0.0)
    """,
    "training=False": """
    def forward(self, x):
        return F.dropout(x, 0.5, training=False)
    """,
    "the mode of another module": """
    def forward(self, x):
        return F.dropout(x, 0.5, training=self.encoder.training)
    """,
    "batch norm that follows the flag": """
    def forward(self, x):
        return F.batch_norm(x, self.mean, self.var, self.weight, self.bias, self.training, 0.1)
    """,
    "batch norm with running statistics": """
    def forward(self, x):
        return F.batch_norm(x, self.mean, self.var, training=False)
    """,
    "deterministic by argument": """
    def forward(self, x, deterministic=True):
        return F.dropout(x, 0.5, training=not deterministic)
    """,
    "a module for the dropping": """
    def forward(self, x):
        return self.dropout(F.relu(x))
    """,
    "an assertion that it trains": """
    def forward(self, x):
        assert self.training
        return F.dropout(x, 0.5)
    """,
    "a helper called in training only": """
    def noise(self, x):
        return F.dropout(x, 0.1)

    def forward(self, x):
        if self.training:
            x = self.noise(x)
        return x
    """,
    "a probability that follows the flag": """
    def forward(self, x):
        p = 0.0 if not self.training else self.p
        return F.dropout(x, p)
    """,
}
FOUND = {
    "guards that are always true": """
    def forward(self, x):
        if self.train:
            x = F.dropout(x, 0.1)  # ML104
        x = F.dropout(x, 0.1, training=self.train)  # ML104
        x = F.dropout(x, 0.1, training=~self.training)  # ML104
        return F.dropout(x, 0.1, training=self.training or True)  # ML104
    """,
    "guards turned round": """
    def forward(self, q, k, v):
        q = F.dropout(q, 0.1, training=not self.training)  # ML104
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.0 if self.training else 0.0) + (
            F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if not self.training else 0.0)  # ML104
        )
    """,
    "under another name": """
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.drop = F.dropout

    def forward(self, q, k, v):
        attend = F.scaled_dot_product_attention
        q = self.drop(q, self.p)  # ML104
        return attend(q, k, v, dropout_p=self.p)  # ML104
    """,
    "in a nested function": """
    def forward(self, x):
        def drop(a):
            return F.dropout(a, 0.1)  # ML104

        return drop(x)
    """,
    "attention by a variable": """
    def forward(self, q, k, v):
        drop = self.attn_drop
        return F.scaled_dot_product_attention(q, k, v, dropout_p=drop)  # ML104
    """,
    "batch statistics": """
    def forward(self, x):
        x = F.dropout(x, 0.1, self.training)
        return F.batch_norm(x, None, None, training=True)  # ML104
    """,
    "a condition on the wrong thing": """
    def forward(self, x):
        if self.dropout is not None and x.requires_grad:
            x = F.dropout(x, self.dropout)  # ML104
        return x
    """,
    "in place": """
    def forward(self, x):
        F.dropout(x, 0.1, inplace=True)  # ML104
        return x
    """,
    "in a helper": """
    def mix(self, x):
        return F.dropout(x, 0.1)  # ML104

    def forward(self, x):
        return self.mix(x)
    """,
    "the keyword p alone": """
    def forward(self, x):
        x = F.dropout2d(x, p=0.1)  # ML104
        return F.dropout(x, p=self.p)  # ML104
    """,
    "nothing said": """
    def forward(self, x):
        return F.dropout(x)  # ML104
    """,
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_silent(lint: Lint, body: str) -> None:
    lint(HEADER + body)


@pytest.mark.parametrize("body", FOUND.values(), ids=FOUND)
def test_found(lint: Lint, body: str) -> None:
    lint(HEADER + body)
