import { bigint, date, id, nullable, oneOf, text, timestamp } from './column.ts'

/** Tables of `0194_provider_bills.sql`. */
export const PROVIDER_BILL_TABLES = {
  /** A line of a provider's bill to a seller for a UTC day. */
  provider_bill: {
    seller_account: id('acc'),
    provider: text(),
    day: date(),
    /** The provider's own name of the model. */
    model: text(),
    /** The provider's word for a usage class or a line. Empty for the total of a day and a model. */
    line: text(),
    units: nullable(bigint()),
    /** Pico-USD. */
    billed_pico: bigint(),
    source: oneOf(['file', 'key']),
    imported_at: timestamp(),
  },
}
