"""Entry point: `python app.py`, and Spaces. `python app.py --help` lists what a host can set."""

import os
import sys

from ui.settings import Settings, check_address, read_settings

# Options are read before the heavy imports, so that --help and a bad option answer at once.
settings = read_settings(sys.argv[1:]) if __name__ == "__main__" else Settings()
if __name__ == "__main__":
    check_address(settings)

from ui.page import build_page, launch  # noqa: E402

demo = build_page(settings)

if __name__ == "__main__":
    try:
        launch(demo, settings)
    except KeyboardInterrupt:
        pass
    # Python cannot end in order while torch computes in a thread, as it may for a load or a run.
    sys.stdout.flush()
    os._exit(0)
