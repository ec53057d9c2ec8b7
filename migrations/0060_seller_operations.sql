-- Work of a seller that goes on after its answer. Its rows are the truth: a queue only wakes who does it.

create table seller_operation (
  id text collate "C" primary key check (id ~ '^opn_[0-9A-Za-z_-]{1,64}$'),
  seller_account text collate "C" not null references account (id),
  kind text not null check (kind in ('bulk_cancel')),
  status text not null check (status in ('pending', 'running', 'succeeded', 'failed')),
  total int not null check (total >= 0),
  processed int not null default 0,
  failed_count int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint seller_operation_counts check (0 <= failed_count and failed_count <= processed and processed <= total)
);
create index seller_operation_open on seller_operation (id) where status in ('pending', 'running');

create table seller_operation_item (
  operation text collate "C" not null references seller_operation (id) on delete cascade,
  offer text collate "C" not null references offer (id),
  done_at timestamptz,
  primary key (operation, offer)
);
-- An offer waits in one operation at a time: a second one begun meanwhile has nothing to do with it.
create unique index seller_operation_item_once on seller_operation_item (offer) where done_at is null;
