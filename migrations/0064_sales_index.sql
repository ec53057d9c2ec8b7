-- Earnings are summed from the settlements themselves: with all they need in the index, a sum reads a sixth of the pages.

drop index settlement_by_seller;
create index settlement_by_seller on settlement (seller_account, rid)
  include (model, started_at, outcome, charge, seller_net, input_tokens, cache_read_tokens, cache_write_tokens,
    audio_input_tokens, output_tokens, reasoning_tokens, audio_output_tokens)
  where seller_account is not null;
