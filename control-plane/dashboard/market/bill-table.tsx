import type { BuyerReceiptQuery } from '#control-plane/dashboard/data/documents/buyer-receipt.ts'
import { compact, count, exactMoney, percent } from '#control-plane/dashboard/data/format.ts'

type Bill = NonNullable<BuyerReceiptQuery['requestBill']>
type BillLine = Bill['lines'][number]

const ITEM_WORDS: Readonly<Record<BillLine['item'], string>> = {
  input: 'Input',
  cache_read: 'Cached input',
  cache_write: 'Cache write',
  cache_write_1h: 'Cache write, 1 hour',
  audio_input: 'Audio input',
  image_input: 'Image input',
  output: 'Output',
  reasoning: 'Reasoning',
  audio_output: 'Audio output',
  image_output: 'Image output',
  image: 'Images',
  image_2k: '2K images',
  image_4k: '4K images',
  area: 'Image area',
  time: 'Time',
  time_1080p: 'Time in 1080p',
  time_4k: 'Time in 4K',
  text: 'Text to speech',
  search: 'Web searches',
  request: 'Request',
}

/** A price with at least two decimals: 0.4 is "0.40". */
function decimals(price: string): string {
  const [whole = '0', fraction = ''] = price.split('.')
  return `${whole}.${fraction.padEnd(2, '0')}`
}

/** "1,200 tokens × $0.25 per 1M". */
function priceWords({ quantity, unit, priceUsd, priceUnits }: BillLine): string {
  const plural = unit === 'search' ? 'searches' : `${unit}s`
  const per = priceUnits === 1 ? `per ${unit}` : `per ${compact(priceUnits)}`
  return `${count(quantity)} ${quantity === 1 ? unit : plural} × $${decimals(priceUsd)} ${per}`
}

type Props = { readonly bill: Bill; readonly priceConditions: readonly string[] }

/** The charge line by line. The lines add up to the cost at reference prices, and less the discount to the charge. */
export function BillTable({ bill, priceConditions }: Props) {
  const { lines, roundingMicro, otherMicro, listCostMicro, discountPct, discountMicro, buyerCostMicro } = bill
  return (
    <table className="table sum">
      <tbody>
        {lines.map((line) => (
          <tr key={line.item}>
            <th scope="row">
              {ITEM_WORDS[line.item]}
              <span className="sub">{priceWords(line)}</span>
            </th>
            <td>{exactMoney(line.amountMicro)}</td>
          </tr>
        ))}
        {roundingMicro === 0 ? null : (
          <tr>
            <th scope="row">Rounding</th>
            <td>{exactMoney(roundingMicro)}</td>
          </tr>
        )}
        {otherMicro === 0 || lines.length === 0 ? null : (
          <tr>
            <th scope="row">
              Other
              <span className="sub">Some prompts of this call had prices of their own.</span>
            </th>
            <td>{exactMoney(otherMicro)}</td>
          </tr>
        )}
        <tr>
          <th scope="row">
            At list prices
            {priceConditions.length === 0 ? null : <span className="sub mono">{priceConditions.join(', ')}</span>}
          </th>
          <td>{exactMoney(listCostMicro)}</td>
        </tr>
        {discountMicro === 0 ? null : (
          <tr>
            <th scope="row">Discount{discountPct === null ? '' : `, ${percent(discountPct, 2)}`}</th>
            <td>{discountMicro > 0 ? exactMoney(-discountMicro) : `+${exactMoney(-discountMicro)}`}</td>
          </tr>
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Charged</th>
          <td>{exactMoney(buyerCostMicro)}</td>
        </tr>
      </tfoot>
    </table>
  )
}
