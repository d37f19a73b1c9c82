"""What Alembic runs: the steps, on the connection of the service that starts."""

from alembic import context

from reference_impl.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
