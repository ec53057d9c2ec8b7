-- Which chain was read: two of its blocks are remembered. A chain that has another block in place of the older one is another
-- chain, and a chain that has another in place of the newer one was reorganised more deeply than confirmations are.

alter table treasury_cursor
  -- The hash of the last proven block.
  add column proven_hash text collate "C" check (proven_hash ~ '^0x[0-9a-f]{64}$'),
  -- A block far below it, which no reorganisation reaches; null until the next proof.
  add column anchor_block bigint check (anchor_block >= 0),
  add column anchor_hash text collate "C" check (anchor_hash ~ '^0x[0-9a-f]{64}$'),
  -- Since when the chain is another one. Nothing is read or sent meanwhile.
  add column strange_since timestamptz,
  add constraint treasury_cursor_anchored check ((anchor_block is null) = (anchor_hash is null));
