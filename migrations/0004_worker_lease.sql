-- Which process does a periodic job now. A dead owner's lease runs out by the clock of this database.
create table worker_lease (
  name text primary key,
  owner text not null,
  expires_at timestamptz not null
);
