-- Filters of a list that a person keeps under a name.

create table saved_view (
  id text collate "C" primary key check (id ~ '^viw_[0-9A-Za-z_-]{1,64}$'),
  user_id text collate "C" not null references app_user (id),
  screen text not null check (screen in ('models', 'logs', 'activity', 'jobs', 'offers')),
  name text not null check (length(name) between 1 and 60),
  query text not null check (length(query) <= 1000),
  created_at timestamptz not null,
  constraint saved_view_one_name unique (user_id, screen, name)
);
comment on table saved_view is 'Filters of a screen of the page that a user keeps under a name. Only that user reads them.';
comment on column saved_view.query is 'The query of the address of the screen: names and values of its filters, without an address.';
