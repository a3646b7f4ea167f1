"""Where the next cut is made: the methods of Schmidt-Thieme (n.d.) and OCAS, each a rule for one step of a `Descent`.

All of them minimise the model of the cuts; they differ in what keeps the step from running away.

    cutting-plane              nothing (Kelley 1960); with a ridge, BMRM (Teo et al. 2010)
    line-search                the line from the best place to the model's minimum, as in Schmidt-Thieme (n.d.)
    cutting-plane-line-search  that line, with a cut a little beyond its best place (OCAS, Franc and Sonnenburg 2008)
    proximal-bundle            proximity/2 |x - centre|^2 (Kiwiel 1990)
    trust-region-bundle        |x - centre| <= radius (Schramm and Zowe 1992)
    level-bundle               the nearest x at which the model is below a level (Lemarechal et al. 1995)

The last two are the third one with a proximity that is searched for: the radius falls and the model's value rises as
the proximity grows, so both are roots of a monotone function.
"""

from __future__ import annotations

from .cutting_planes import CuttingPlane, ExactLineSearch, Ocas
from .proximal import Level, Proximal, TrustRegion
from .rule import Rule

RULES: dict[str, type[Rule]] = {
    rule.name: rule for rule in (CuttingPlane, ExactLineSearch, Ocas, Proximal, TrustRegion, Level)
}
