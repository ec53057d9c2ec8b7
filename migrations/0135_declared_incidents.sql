-- What operators tell everybody about an incident, beside those that real traffic shows. An end is a state and an instant.

create table declared_incident (
  id text collate "C" primary key,
  title text not null check (length(title) between 1 and 200),
  -- Canonical models and providers it touches; none of them means the whole market.
  models text[] not null,
  providers text[] not null,
  state text not null check (state in ('investigating', 'identified', 'monitoring', 'resolved')),
  started_at timestamptz not null,
  ended_at timestamptz check (ended_at >= started_at),
  check ((state = 'resolved') = (ended_at is not null))
);

create table declared_incident_note (
  incident text collate "C" not null references declared_incident,
  number int not null check (number between 1 and 20),
  at timestamptz not null,
  state text not null check (state in ('investigating', 'identified', 'monitoring', 'resolved')),
  note text not null check (length(note) between 1 and 2000),
  primary key (incident, number)
);
