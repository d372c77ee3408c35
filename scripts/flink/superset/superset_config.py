"""Settings of the Superset that `scripts/flink/superset/front` starts: on the loopback, without any
connection to other hosts."""
import os

from flask import Blueprint, abort, redirect, send_file
from flask_login import current_user

HOME = os.environ["SUPERSET_HOME"]
PAGE = os.environ.get("STALLKIT_PAGE", "")

with open(os.path.join(HOME, "secret"), encoding="ascii") as f:
    SECRET_KEY = f.read()

SQLALCHEMY_DATABASE_URI = f"sqlite:///{HOME}/superset.db?check_same_thread=false"
TALISMAN_ENABLED = True
TALISMAN_CONFIG = {
    # The browser may load from this server only. This stops a pixel of another host on Superset's
    # own page.
    "content_security_policy": {
        "base-uri": ["'self'"],
        "default-src": ["'self'"],
        "img-src": ["'self'", "blob:", "data:"],
        "worker-src": ["'self'", "blob:"],
        "connect-src": ["'self'"],
        "object-src": "'none'",
        "style-src": ["'self'", "'unsafe-inline'"],
        "font-src": ["'self'"],
        "script-src": ["'self'", "'strict-dynamic'"],
    },
    "content_security_policy_nonce_in": ["script-src"],
    "force_https": False,
    "session_cookie_secure": False,
}
CONTENT_SECURITY_POLICY_WARNING = False
MAPBOX_API_KEY = ""
SLACK_ENABLE_AVATARS = False
RATELIMIT_STORAGE_URI = "memory://"

stalls = Blueprint("stalls", __name__)


@stalls.route("/stalls/page.html")
def page():
    if not current_user.is_authenticated:
        return redirect("/login/?next=/stalls/page.html")
    if not os.path.isfile(PAGE):
        abort(404)
    return send_file(PAGE, mimetype="text/html", max_age=0)


# The page has its own policy, by which it may load nothing; Superset's policy would stop its
# script.
page.talisman_view_options = {"content_security_policy": None}
BLUEPRINTS = [stalls]
