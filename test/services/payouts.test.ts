import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setPayoutHold } from '#control-plane/db/payout-holds.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { DAY, systemClock } from '#shared/clock.ts'
import { ids } from '#test/support/books/gate.ts'
import type { PayoutWorld, TestSeller } from '#test/support/books/payouts.ts'
import { insertOffer, setTreasury, startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'

let chain: OwnChain
let world: PayoutWorld
const RICH = 10_000_000_000n

beforeAll(async () => {
  chain = await startChain()
  world = await startPayouts(chain)
})
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await chain.stop()
})

const received = ({ purse }: TestSeller) => chain.usdcBalance(purse.address)
const only = async (seller: TestSeller) => {
  const [payout, ...more] = await world.payouts(seller)
  if (payout === undefined) throw new Error('there is no payout')
  expect(more).toEqual([])
  return payout
}
/** Moves the chain's clock past the validity of every signature. */
const outlast = () =>
  callChain(chain.rpcUrl, [
    ['evm_increaseTime', [700]],
    ['evm_mine', []],
  ])

describe('a payout run', () => {
  it('pays every seller above the threshold exactly the booked balance, and no seller twice', async () => {
    const sellers = [await world.seller(5_000_000), await world.seller(1_000_000), await world.seller(999_999)]
    await drainBalances(world.ctx, { isForced: true })
    await world.settle()
    expect(await Promise.all(sellers.map(received))).toEqual([5_000_000n, 1_000_000n, 0n])
    const [first] = sellers
    if (first === undefined) throw new Error('there is no seller')
    expect(await world.books(first)).toEqual({ available: 0, inFlight: 0, paid: 5_000_000 })
    const { state, transaction, block } = await only(first)
    expect({ state, transaction, isMined: (block ?? 0n) > 0n }).toEqual({
      state: 'paid',
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      isMined: true,
    })
    expect(await moveTransfers(world.ctx)).toMatchObject({ sent: 0, moved: 0, confirmed: 0 })
  })

  it('pays each offer to its own address, and earnings without an offer to the wallet', async () => {
    const [one, other] = [await chain.newWallet(), await chain.newWallet()]
    const seller = await world.seller(2_000_000, one.address.toLowerCase())
    await insertOffer(world.db, seller, other.address.toLowerCase(), `ofr_x${seller.id.slice(4)}`)
    await world.earn(seller, 3_000_000, `ofr_x${seller.id.slice(4)}`)
    await world.earn(seller, 4_000_000, `ofr_gone${seller.id.slice(4)}`)
    await drainBalances(world.ctx, { isForced: true })
    await world.settle()
    expect(await Promise.all([one, other].map(({ address }) => chain.usdcBalance(address)))).toEqual([
      2_000_000n,
      3_000_000n,
    ])
    expect(await received(seller)).toBe(4_000_000n)
  })

  it('runs when it is due, and once for each time', async () => {
    const patient = world.process({ PAYOUT_EVERY_SECONDS: '3600' })
    await drainBalances(patient, { isForced: true })
    await world.seller(1_500_000)
    expect(await drainBalances(patient)).toBeUndefined()
    expect(await drainBalances(patient, { isForced: true })).toBe(1)
    expect(await drainBalances(patient, { isForced: true })).toBe(0)
    await world.settle()
  })

  it('leaves earnings that are younger than the hold period', async () => {
    const seller = await world.seller(2_000_000)
    const slow = world.process({ PAYOUT_HOLD_SECONDS: '3600' })
    expect(await drainBalances(slow, { isForced: true })).toBe(0)
    expect(await drainBalances(world.ctx, { isForced: true })).toBe(1)
    await world.settle()
    expect(await received(seller)).toBe(2_000_000n)
  })

  it('pays a contract like any other address', async () => {
    const contract = '0x00000000000000000000000000000000c0de0001'
    await callChain(chain.rpcUrl, [['anvil_setCode', [contract, '0x60006000fd']]])
    await world.seller(1_250_000, contract)
    await drainBalances(world.ctx, { isForced: true })
    await world.settle()
    expect(await chain.usdcBalance(contract)).toBe(1_250_000n)
  })
})

describe('a hold', () => {
  it('stops the signature of payouts that were planned before it', async () => {
    const seller = await world.seller(2_100_000)
    await drainBalances(world.ctx, { isForced: true })
    await setPayoutHold(world.db, ids.ulid(), 'test')
    await moveTransfers(world.ctx)
    expect(await only(seller)).toMatchObject({ state: 'scheduled', signature: null })
    await sql`update payout_hold set cleared_at = now(), cleared_by = 'test', clear_reason = 'test'
      where cleared_at is null`.execute(world.db)
    await world.settle()
    expect(await received(seller)).toBe(2_100_000n)
  })
})

describe('a request', () => {
  it('pays the available amount once, for any number of requests at once', async () => {
    const seller = await world.seller(3_000_000)
    const other = world.process()
    const asks = Array.from({ length: 6 }, (_, at) => world.request(seller, {}, at % 2 === 0 ? world.ctx : other))
    const answers = await Promise.all(asks)
    expect(new Set(answers.map(({ payoutId }) => payoutId)).size).toBe(1)
    expect(answers.every(({ status }) => status === 'scheduled')).toBe(true)
    await Promise.all([world.settle(), world.settle(other)])
    expect(await received(seller)).toBe(3_000_000n)
    await only(seller)
  })

  it('for nothing, or below the threshold, is a conflict', async () => {
    await expect(world.request(await world.seller(0))).rejects.toMatchObject({ code: 'conflict' })
    const seller = await world.seller(999_999)
    await expect(world.request(seller)).rejects.toMatchObject({
      code: 'conflict',
      message:
        'A payout to an address is $1.00 or more. At most $0.999999 is ready for one address, so $0.000001 is missing.',
      detail: { available: '999999', threshold: '1000000', missing: '1' },
    })
    expect(await world.books(seller)).toEqual({ available: 999_999, inFlight: 0, paid: 0 })
  })

  it('is held, with its reason, while payouts are stopped, not configured, or blocked for this seller', async () => {
    const seller = await world.seller(2_000_000)
    const held = async (by = world.ctx) => (await world.request(seller, {}, by)).reason
    expect(await held({ ...world.ctx, treasury: null })).toBe('not_set_up')
    const off = { ...world.ctx, controls: { ...world.ctx.controls, isOn: () => Promise.resolve(false) } }
    expect(await held(off)).toBe('switched_off')
    await sql`insert into payout_hold (id, reason) values ('01M0000000000000000000000A', 'invariant:I3')`.execute(
      world.db,
    )
    expect(await held()).toBe('ledger_check')
    expect(await drainBalances(world.ctx, { isForced: true })).toBeUndefined()
    await sql`update payout_hold set cleared_at = now(), cleared_by = 'test', clear_reason = 'test'`.execute(world.db)
    await sql`insert into seller_stop (id, seller, reason, set_by) values (${`s${seller.id}`}, ${seller.account}, 'fraud', 'test')`.execute(
      world.db,
    )
    expect(await held()).toBe('operator')
    expect(await drainBalances(world.ctx, { isForced: true })).toBe(0)
    await sql`update seller_stop set cleared_at = now(), cleared_by = 'test'`.execute(world.db)
    expect(await world.books(seller)).toEqual({ available: 2_000_000, inFlight: 0, paid: 0 })
    expect(await held()).toBeNull()
    await world.settle()
  })

  it('is held for an address on the block list, and while the list cannot be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'blocked-'))
    const file = join(folder, 'list')
    const seller = await world.seller(2_000_000)
    const listing = world.process({ PAYOUT_BLOCKED_FILE: file })
    expect(await world.request(seller, {}, listing)).toMatchObject({ status: 'held', reason: 'list_unreadable' })
    writeFileSync(file, `# sanctions\n${seller.purse.address}  # this one\n`)
    expect(await world.request(seller, {}, listing)).toMatchObject({ status: 'held', reason: 'blocked_address' })
    // An address that is added to the list after the plan is not signed for.
    const planned = await world.request(seller)
    await moveTransfers(listing)
    expect(await world.payout(planned.payoutId ?? '')).toMatchObject({ state: 'held', reason: 'blocked_address' })
    expect(await received(seller)).toBe(0n)
    writeFileSync(file, 'somebody\n')
    expect(await world.request(await world.seller(2_000_000), {}, listing)).toMatchObject({ reason: 'list_unreadable' })
    rmSync(folder, { recursive: true })
  })

  it("above the operator's limit waits for an operator", async () => {
    const seller = await world.seller(2_000_000)
    const strict = world.process({ PAYOUT_APPROVAL_MICRO: '1999999' })
    const { payoutId, ...answer } = await world.request(seller, {}, strict)
    expect(answer).toMatchObject({ status: 'held', reason: 'approval' })
    const exact = world.process({ PAYOUT_APPROVAL_MICRO: '2000000' })
    expect(await world.request(await world.seller(2_000_000), {}, exact)).toMatchObject({ status: 'scheduled' })
    await world.settle()
    expect(await received(seller)).toBe(0n)
    expect(await world.payout(payoutId ?? '')).toMatchObject({ state: 'held' })
  })
})

describe('a new payout address', () => {
  it('is not paid before it has cooled, and neither is the old one', async () => {
    const next = await chain.newWallet()
    const seller = await world.seller(2_000_000)
    await sql`update offer set payout_address = ${next.address.toLowerCase()}, payout_address_since = now()
      where seller_account = ${seller.account}`.execute(world.db)
    expect(await world.request(seller)).toMatchObject({ status: 'held', reason: 'unverified_address' })
    await drainBalances(world.ctx, { isForced: true })
    expect(await world.payouts(seller)).toEqual([])
    const cooled = world.process({ PAYOUT_COOLING_SECONDS: '0' })
    expect(await world.request(seller, {}, cooled)).toMatchObject({ status: 'scheduled' })
    await world.settle()
    expect([await received(seller), await chain.usdcBalance(next.address)]).toEqual([0n, 2_000_000n])
  })
})

describe('an authorization that the seller submits', () => {
  it('pays exactly the balance, by the recipient alone, and a repeat is the same', async () => {
    const seller = await world.seller(777_777)
    const answers = await Promise.all([1, 2, 3].map(() => world.request(seller, { selfSubmit: true })))
    const [answer] = answers
    if (answer?.authorization === undefined) throw new Error('there is no authorization')
    expect(answer).toMatchObject({ status: 'authorized', reason: null })
    for (const other of answers) expect(other).toEqual(answer)
    const typed = JSON.parse(answer.authorization.typedData)
    expect(typed.primaryType).toBe('ReceiveWithAuthorization')
    expect(typed.message).toMatchObject({ to: seller.purse.address, value: '777777', validAfter: '0' })
    const stranger = await chain.newWallet({ eth: 10n ** 18n })
    expect(await world.submit(answer, stranger)).toBe('reverted')
    await moveTransfers(world.ctx)
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 777_777, paid: 0 })
    expect(await world.submit(answer, seller.purse)).toBe('success')
    await world.settle()
    expect(await received(seller)).toBe(777_777n)
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: 777_777 })
  })

  it('binds its money until it has expired, and gives it back then', async () => {
    const seller = await world.seller(1_600_000)
    const first = await world.request(seller, { selfSubmit: true })
    expect(await world.request(seller)).toMatchObject({ payoutId: first.payoutId, status: 'authorized' })
    await outlast()
    await moveTransfers(world.ctx)
    expect(await world.payout(first.payoutId ?? '')).toMatchObject({ state: 'returned', reason: 'not_submitted' })
    expect(await world.submit(first, seller.purse)).toBe('reverted')
    expect(await world.books(seller)).toEqual({ available: 1_600_000, inFlight: 0, paid: 0 })
    const second = await world.request(seller, { selfSubmit: true })
    expect(second.payoutId).not.toBe(first.payoutId)
    await world.submit(second, seller.purse)
    await world.settle()
    expect(await received(seller)).toBe(1_600_000n)
  })

  it("is valid by the chain’s clock, whatever the market's clock shows", async () => {
    const seller = await world.seller(1_800_000)
    const answer = await world.request(seller, { selfSubmit: true })
    await moveTransfers({ ...world.ctx, clock: { ...systemClock, now: () => Date.now() + DAY } })
    expect(await world.payout(answer.payoutId ?? '')).toMatchObject({ state: 'signed' })
    expect(await world.submit(answer, seller.purse)).toBe('success')
    await world.settle()
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: 1_800_000 })
  })

  it('that is used never gives its money back, however late the use is seen', async () => {
    const seller = await world.seller(1_700_000)
    const answer = await world.request(seller, { selfSubmit: true })
    await world.submit(answer, seller.purse)
    await outlast()
    await world.settle()
    expect(await world.payout(answer.payoutId ?? '')).toMatchObject({ state: 'paid' })
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: 1_700_000 })
  })
})

describe('a payout that the token refuses', () => {
  it('delays no other payout, and comes back when its signature has expired', async () => {
    const [blocked, good] = [await world.seller(2_000_000), await world.seller(2_000_000)]
    await chain.blacklist(blocked.purse.address)
    await drainBalances(world.ctx, { isForced: true })
    for (let turn = 0; turn < 3; turn++) await moveTransfers(world.ctx)
    expect([await received(blocked), await received(good)]).toEqual([0n, 2_000_000n])
    expect(await only(blocked)).toMatchObject({ state: 'signed', reason: 'recipient_refused' })
    expect(await world.books(blocked)).toMatchObject({ available: 0, inFlight: 2_000_000 })
    await outlast()
    await world.settle()
    expect(await only(blocked)).toMatchObject({ state: 'returned', reason: 'recipient_refused' })
    expect(await world.books(blocked)).toEqual({ available: 2_000_000, inFlight: 0, paid: 0 })
    await drainBalances(world.ctx, { isForced: true })
    expect(await world.payouts(blocked)).toHaveLength(1)
    await chain.blacklist(blocked.purse.address, false)
    expect(await world.request(blocked)).toMatchObject({ status: 'scheduled' })
    await world.settle()
    expect(await received(blocked)).toBe(2_000_000n)
  })
})

describe('the review before a signature', () => {
  it('signs no payout that the ledger lacks, and stops all payouts', async () => {
    const [seller, other] = [await world.seller(2_000_000), await world.seller(2_000_000)]
    const [{ payoutId }] = [await world.request(seller), await world.request(other)]
    // The row gets more money, as a fault or a thief in the database would give it.
    await sql`update treasury_transfer set state = 'held', reason = 'test' where id = ${payoutId}`.execute(world.db)
    await sql`alter table treasury_transfer disable trigger treasury_transfer_keeps`.execute(world.db)
    await sql`update treasury_transfer set amount = amount + 1, state = 'scheduled' where id = ${payoutId}`.execute(
      world.db,
    )
    await moveTransfers(world.ctx)
    expect([await received(seller), await received(other)]).toEqual([0n, 0n])
    expect(await world.payout(payoutId ?? '')).toMatchObject({ state: 'held', reason: 'ledger_mismatch' })
    expect(await world.request(other)).toMatchObject({ status: 'held', reason: 'ledger_check' })
    await sql`update treasury_transfer set amount = amount - 1 where id = ${payoutId}`.execute(world.db)
    await sql`alter table treasury_transfer enable trigger treasury_transfer_keeps`.execute(world.db)
    await sql`update payout_hold set cleared_at = now(), cleared_by = 'test', clear_reason = 'test'
      where cleared_at is null`.execute(world.db)
    await world.settle()
    expect([await received(seller), await received(other)]).toEqual([0n, 2_000_000n])
  })
})

describe('the signer of the treasury', () => {
  const byNobody = { TREASURY_PRIVATE_KEY: undefined }

  it('may be a file with its key', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'treasury-'))
    const file = join(folder, 'key')
    writeFileSync(file, `${world.treasuryKey}\n`, { mode: 0o600 })
    const seller = await world.seller(1_100_000)
    const filed = world.process({ ...byNobody, TREASURY_KEY_FILE: file })
    await world.request(seller, {}, filed)
    await world.settle(filed)
    expect(await received(seller)).toBe(1_100_000n)
    writeFileSync(file, 'no key')
    expect(() => world.process({ ...byNobody, TREASURY_KEY_FILE: file })).toThrow('TREASURY_KEY_FILE')
    expect(() => world.process({ TREASURY_SIGNER_URL: 'http://127.0.0.1:1' })).toThrow('set only one of')
    rmSync(folder, { recursive: true })
  })

  it('may be a service, which is believed only for the treasury’s own signature', async () => {
    const owner = privateKeyToAccount(world.treasuryKey)
    let signer = privateKeyToAccount(`0x${'51'.repeat(32)}`)
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { digest } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      response.end(JSON.stringify({ signature: await signer.sign({ hash: digest }) }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const port = Object(server.address()).port
    const remote = world.process({ ...byNobody, TREASURY_SIGNER_URL: `http://127.0.0.1:${port}` })
    const seller = await world.seller(1_200_000)
    const { payoutId } = await world.request(seller, {}, remote)
    for (let turn = 0; turn < 2; turn++) await moveTransfers(remote)
    expect(await world.payout(payoutId ?? '')).toMatchObject({ state: 'scheduled', signature: null })
    signer = owner
    await world.settle(remote)
    expect(await received(seller)).toBe(1_200_000n)
    await new Promise((resolve) => server.close(resolve))
  })
})

describe('a sweep', () => {
  it('sends the amount above the ceiling to the cold address, and leaves the money of payouts', async () => {
    const cold = await chain.newWallet()
    const [seller, signed] = [await world.seller(2_000_000), await world.seller(3_000_000)]
    await setTreasury(world, 100_000_000n)
    await world.request(signed)
    await chain.mining('off')
    await moveTransfers(world.ctx)
    const sweeping = world.process({ TREASURY_COLD_ADDRESS: cold.address, TREASURY_CEILING_MICRO: '10000000' })
    await drainBalances(sweeping, { isForced: true })
    await moveTransfers(sweeping)
    await chain.mining('automatic')
    await world.settle(sweeping)
    expect([await received(seller), await received(signed)]).toEqual([2_000_000n, 3_000_000n])
    // Three payouts of the tests above are held, and their money stays.
    expect(await chain.usdcBalance(cold.address)).toBe(79_000_000n)
    expect(await chain.usdcBalance(world.treasury)).toBe(16_000_000n)
    await moveTransfers(sweeping)
    await setTreasury(world, RICH)
  })
})
