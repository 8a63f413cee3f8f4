"""The store that tests of changes in the browser have in common with those of the services."""

from tests.services.conftest import store as store
