"""The dashboard's files into Superset, and back: `assets.py import FOLDER ROWS-URL PAGE`, `assets.py export FOLDER`.

In the tree the data base has the address @ROWS@ and links have the page @PAGE@. What has been imported before is overwritten."""
import os
import re
import shutil
import sys

import yaml
from flask import g
from superset.app import create_app

SLUG = "stalls"


def import_assets(folder, rows, page):
    from superset import security_manager
    from superset.commands.importers.v1.assets import ImportAssetsCommand
    if not rows.startswith("postgresql://"):
        sys.exit("front: the rows' address begins with postgresql://")
    rows = rows.replace("postgresql:", "postgresql+psycopg2:", 1)
    page = page.replace("&", "&amp;").replace('"', "&quot;").replace("'", "&#39;") # it stands in an attribute in a string of SQL
    contents = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(parent, name)
            with open(file, encoding="utf-8") as f:
                contents[os.path.relpath(file, folder)] = f.read().replace("@ROWS@", rows).replace("@PAGE@", page)
    g.user = security_manager.find_user(username="admin")
    ImportAssetsCommand(contents).run()


def export_assets(folder):
    from superset import db, security_manager
    from superset.commands.dashboard.export import ExportDashboardsCommand
    from superset.models.dashboard import Dashboard
    g.user = security_manager.find_user(username="admin")
    dashboard = db.session.query(Dashboard).filter_by(slug=SLUG).one()
    files = [(name, text()) for name, text in ExportDashboardsCommand([dashboard.id]).run()]
    shutil.rmtree(folder)
    for name, text in files:
        name = re.sub(r"_\d+(?=\.yaml$)", "", name) # of this installation
        if name == "metadata.yaml":
            text = re.sub(r"(?m)^type: .*", "type: assets", re.sub(r"(?m)^timestamp: .*", "timestamp: '2026-11-28T00:00:00+00:00'", text))
        if name.startswith("databases/"):
            text = re.sub(r"(?m)^sqlalchemy_uri: .*", "sqlalchemy_uri: '@ROWS@'", text)
        text = re.sub(r'(<a href=\\?")[^"#\\]*#', r"\1@PAGE@#", text)
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            yaml.dump(yaml.safe_load(text), f, Dumper=Readable, sort_keys=False, width=200, allow_unicode=True)


class Readable(yaml.SafeDumper):
    """Writes text of several lines, as queries are, in lines."""


Readable.add_representer(str, lambda d, text: d.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None))
with create_app().app_context():
    {"import": import_assets, "export": export_assets}[sys.argv[1]](*sys.argv[2:])
