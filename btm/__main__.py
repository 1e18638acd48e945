"""``python -m btm`` is ``btm``."""

from btm.cli.main import main

main()
