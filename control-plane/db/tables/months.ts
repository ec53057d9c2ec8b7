import { bigint, date, id, numeric, text, timestamp, withDefault } from './column.ts'
import { LEDGER_TABLES } from './ledger.ts'
import { SETTLEMENT_TABLES } from './settlements.ts'

const { settlement } = SETTLEMENT_TABLES

/** Tables of `0009_months.sql`. Amounts are micro-USD. */
export const MONTH_TABLES = {
  archived_month: {
    month: date(),
    ends_before: text(),
    settlements: bigint(),
    charged: numeric(),
    entries: bigint(),
    archived_at: withDefault(timestamp()),
  },
  carried_total: { month: date(), account: id('acc'), amount: bigint(), entries: bigint() },
}

/** Views of the booked tables that include the detached months. */
export const MONTH_VIEWS = {
  every_ledger_tx: LEDGER_TABLES.ledger_tx,
  every_ledger_entry: LEDGER_TABLES.ledger_entry,
  every_settlement: {
    rid: settlement.rid,
    account: settlement.account,
    key_id: settlement.key_id,
    seller_account: settlement.seller_account,
    hold_amount: settlement.hold_amount,
    charge: settlement.charge,
    seller_net: settlement.seller_net,
    fee: settlement.fee,
    fee_bps: settlement.fee_bps,
    outcome: settlement.outcome,
    endpoint: settlement.endpoint,
    output_tokens: settlement.output_tokens,
    reasoning_tokens: settlement.reasoning_tokens,
    audio_output_tokens: settlement.audio_output_tokens,
    payload_hash: settlement.payload_hash,
    posted_at: settlement.posted_at,
    offer: settlement.offer,
  },
}
