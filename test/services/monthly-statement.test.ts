import { PDFDocument } from 'pdf-lib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { downloadExport } from '#control-plane/services/exports/exports.ts'
import { getBalance } from '#control-plane/services/usage/buyer-account.ts'
import { exportStatement } from '#control-plane/services/usage/monthly-statement.ts'
import { listStatements } from '#control-plane/services/usage/statements.ts'
import { DAY } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { grant } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let ada: Person
let bob: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  await grant(market.plane.db, ada.buyer.account, 5_000_003)
  for (const charge of [1_001, 7, 250_000]) await spend(ada, charge)
  await spend(ada, 500, createIds({ now: longAgo }).ulid())
  await grant(market.plane.db, bob.buyer.account, 10)
})
afterAll(() => market?.stop())

/** A call long before this month that is booked now. */
const longAgo = () => market.plane.clock.now() - 40 * DAY

async function spend({ buyer: { account } }: Person, charge: number, rid = market.plane.ids.ulid()): Promise<void> {
  const call = { rid, account, sellerAccount: bob.seller.account, model: 'gpt-test', charge, hold: charge }
  await postBatch(market.plane, { events: [eventText(call)], source: 'test' })
}

const monthOf = (at: number) => new Date(at).toISOString().slice(0, 7)
const thisMonth = () => monthOf(market.plane.clock.now())

async function fileOf(person: Person, input: { readonly month: string; readonly format: 'csv' | 'pdf' }) {
  const { url } = await invoke(market.plane, person.buyer, exportStatement, input)
  const token = new URL(url).pathname.split('/').at(-1) ?? ''
  const file = await invoke(market.plane, person.buyer, downloadExport, { token })
  const chunks: Buffer[] = []
  for await (const chunk of file.chunks) chunks.push(Buffer.from(chunk))
  return { ...file, bytes: Buffer.concat(chunks) }
}

/** The cells of each line of a CSV file by the names of its columns. */
function readLines(text: string): Record<string, string>[] {
  const [head = '', ...lines] = text.trimEnd().split('\r\n')
  return lines.map((line) => Object.fromEntries(head.split(',').map((name, at) => [name, line.split(',')[at] ?? ''])))
}

describe('the statement of a month', () => {
  it('has every ledger line, and its opening balance and lines add up to the closing balance, which is that of the account', async () => {
    const { bytes, fileName } = await fileOf(ada, { month: thisMonth(), format: 'csv' })
    expect(fileName).toBe(`statement-${thisMonth()}.csv`)
    const lines = readLines(bytes.toString())
    const ledger = await invoke(market.plane, ada.buyer, listStatements, { maxItems: 100 })
    const moved = lines.slice(1, -1)
    expect(lines[0]?.['balance_micro']).toBe('-500')
    expect(moved.map(({ id, amount_micro, balance_micro }) => [id, amount_micro, balance_micro])).toEqual(
      [...ledger.items]
        .reverse()
        .slice(1)
        .map((line) => [line.id, String(line.amountMicro), String(line.balanceMicro)]),
    )
    const sum = moved.reduce((total, line) => total + BigInt(String(line['amount_micro'])), 0n)
    const [opening, closing] = [lines[0], lines.at(-1)]
    expect([opening?.['kind'], closing?.['kind']]).toEqual(['opening_balance', 'closing_balance'])
    expect(BigInt(opening?.['balance_micro'] ?? '') + sum).toBe(BigInt(closing?.['balance_micro'] ?? ''))
    const { creditBalanceUsdc } = await invoke(market.plane, ada.buyer, getBalance, {})
    expect(closing?.['balance_micro']).toBe(creditBalanceUsdc)
    expect(closing?.['balance_micro']).toBe('4748495')
    expect(closing?.['balance_usd']).toBe('4.748495')
    expect(moved.find(({ amount_micro }) => amount_micro === '-7')).toMatchObject({
      amount_usd: '-0.000007',
      model: 'gpt-test',
    })
  })

  it('begins with the closing balance of the month before', async () => {
    const { bytes } = await fileOf(ada, { month: monthOf(longAgo()), format: 'csv' })
    expect(readLines(bytes.toString()).map(({ kind, balance_micro }) => [kind, balance_micro])).toEqual([
      ['opening_balance', '0'],
      ['settle', '-500'],
      ['closing_balance', '-500'],
    ])
    const next = market.plane.clock.now() + 32 * DAY
    await expect(
      invoke(market.plane, ada.buyer, exportStatement, { month: monthOf(next), format: 'csv' }),
    ).rejects.toMatchObject({ code: 'invalid_request', param: 'month' })
  })

  it('is a PDF with the same sums, and has no line of another account', async () => {
    const { bytes, contentType } = await fileOf(ada, { month: thisMonth(), format: 'pdf' })
    expect([contentType, bytes.subarray(0, 5).toString()]).toEqual(['application/pdf', '%PDF-'])
    const document = await PDFDocument.load(bytes)
    expect([document.getPageCount(), document.getTitle()]).toEqual([1, `Statement ${thisMonth()}`])
    const other = await fileOf(bob, { month: thisMonth(), format: 'csv' })
    expect(readLines(other.bytes.toString()).map(({ balance_micro }) => balance_micro)).toEqual(['0', '10', '10'])
  })
})
