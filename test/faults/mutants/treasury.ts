import { ALLOWANCE_MUTANTS } from './allowances.ts'
import { CONTRACT_MUTANTS } from './contract-payers.ts'

/** A mistake in the code of the treasury: one place of one file is changed. */
export type TreasuryMutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
  /** The test file that must fail because of it. */
  readonly caughtBy:
    | 'payouts'
    | 'payout-cover'
    | 'payout-faults'
    | 'replaced-chain'
    | 'replaced-chain-payments'
    | 'deposits'
    | 'deposit-faults'
    | 'allowances'
    | 'anybodys-transfers'
    | 'payment-claims'
    | 'payment-faults'
}

const PAYOUTS = 'control-plane/services/payouts'
const DEPOSITS = 'control-plane/services/deposits'

/** Mistakes on the way of money out of the treasury. */
const OUT: readonly TreasuryMutant[] = [
  {
    name: 'a-second-signature-forgets-the-block-of-the-first',
    file: `${PAYOUTS}/sign-transfers.ts`,
    find: 'signedAtBlock: transfer.signedAtBlock ?? ground.block',
    replace: 'signedAtBlock: ground.block',
    caughtBy: 'payout-faults',
  },
  {
    name: 'a-nonce-for-each-signature',
    file: 'control-plane/ports/treasury/authorization.ts',
    find: 'keccak256(stringToHex(`transfer ${seller',
    replace: 'keccak256(stringToHex(performance.now() + `transfer ${seller',
    caughtBy: 'payouts',
  },
  {
    name: 'money-that-stays-with-its-seller-is-paid-out',
    file: `${PAYOUTS}/plan-payouts.ts`,
    find: '      { account: seller, amount: -amount },\n      { account: inFlight, amount },',
    replace: "      { account: 'acc_platform_fee', amount: -amount },\n      { account: inFlight, amount },",
    caughtBy: 'payouts',
  },
  {
    name: 'nobody-reviews',
    file: `${PAYOUTS}/sign-transfers.ts`,
    find: '  if (transfer.nonce !== nonceIn(transfer) || !isBacked(treasury, transfer, booked)) {',
    replace: '  if (transfer.nonce !== nonceIn(transfer)) {',
    caughtBy: 'payouts',
  },
  {
    name: 'a-list-that-cannot-be-read-blocks-nobody',
    file: `${PAYOUTS}/sign-transfers.ts`,
    find: "  return blocked.has(transfer.recipient) ? { event: 'hold', reason: REASONS.blocked } : 'sign'",
    replace: "  return 'sign'",
    caughtBy: 'payouts',
  },
  {
    name: 'sellers-get-what-the-treasury-has-not',
    file: `${PAYOUTS}/sign-transfers.ts`,
    find: "const isCovered = verdict !== 'sign' || transfer.amount <= left",
    replace: 'const isCovered = true || left > 0n',
    caughtBy: 'payout-cover',
  },
  {
    name: 'what-is-on-its-way-is-still-in-the-books',
    file: `${PAYOUTS}/sign-transfers.ts`,
    find: 'PLATFORM_ACCOUNTS.externalUsdc)) - open.unbooked',
    replace: 'PLATFORM_ACCOUNTS.externalUsdc))',
    caughtBy: 'payout-cover',
  },
  {
    name: 'a-signature-that-is-good-is-given-back',
    file: `${PAYOUTS}/follow-transfers.ts`,
    find: 'transfer.validUntil !== null && transfer.validUntil.getTime() <= final.at',
    replace: 'transfer.validUntil !== null && final.at > 0',
    caughtBy: 'payouts',
  },
  {
    name: 'given-back-by-our-clock',
    file: `${PAYOUTS}/follow-transfers.ts`,
    find: 'transfer.validUntil.getTime() <= final.at',
    replace: 'transfer.validUntil.getTime() <= Math.max(final.at, ctx.clock.now())',
    caughtBy: 'payouts',
  },
  {
    name: 'a-hold-stops-no-signature',
    file: `${PAYOUTS}/move-transfers.ts`,
    find: '    if ((await findPayoutStop(ctx)) !== undefined) return\n',
    replace: '    void findPayoutStop\n',
    caughtBy: 'payouts',
  },
  {
    name: 'a-spent-nonce-without-its-log-is-given-back',
    file: `${PAYOUTS}/follow-transfers.ts`,
    find: 'return isOver && !unclear.has(transfer.nonce) ? letGo(ctx, transfer) : false',
    replace: 'return isOver ? letGo(ctx, transfer) : false',
    caughtBy: 'payout-faults',
  },
  {
    name: 'paid-at-the-first-block',
    file: `${PAYOUTS}/follow-transfers.ts`,
    find: 'head.block - block + 1n >= BigInt(ctx.treasury.confirmations)',
    replace: 'head.block - block + 1n >= 1n && ctx.treasury.confirmations > 0',
    caughtBy: 'payout-faults',
  },
  {
    name: 'paid-by-the-depth-of-a-block-that-is-gone',
    file: `${PAYOUTS}/follow-transfers.ts`,
    find: 'if (!isDeep(use.block) || !isAs(transfer, use)) return false',
    replace: 'if (!isAs(transfer, use)) return false',
    caughtBy: 'payout-faults',
  },
  {
    name: 'what-is-approved-to-the-micro-waits',
    file: `${PAYOUTS}/plan-payouts.ts`,
    find: 'amount > ctx.settings.payouts.approvalMicro',
    replace: 'amount >= ctx.settings.payouts.approvalMicro',
    caughtBy: 'payouts',
  },
  {
    name: 'signed-payouts-are-swept',
    file: `${PAYOUTS}/sweep-treasury.ts`,
    find: 'ground.balance - waiting - signed - ceilingMicro',
    replace: 'ground.balance - waiting - ceilingMicro',
    caughtBy: 'payouts',
  },
  {
    name: 'what-was-paid-goes-back-to-its-seller',
    file: `${PAYOUTS}/end-transfer.ts`,
    find: '{ account: isPaid ? PLATFORM_ACCOUNTS.externalUsdc : seller, amount },',
    replace: '{ account: isPaid ? seller : PLATFORM_ACCOUNTS.externalUsdc, amount },',
    caughtBy: 'payouts',
  },
  {
    name: 'what-came-back-stays-allocated',
    file: `${PAYOUTS}/end-transfer.ts`,
    find: '  if (!isPaid) await releasePayoutItems(trx, id)\n',
    replace: '',
    caughtBy: 'payouts',
  },
  {
    name: 'another-chain-is-signed-for',
    file: 'control-plane/services/treasury/known-chain.ts',
    find: '  await chain.checkChain(purse.chainId)\n',
    replace: '',
    caughtBy: 'payout-faults',
  },
  {
    name: 'a-signer-of-another-address-is-believed',
    file: 'control-plane/ports/treasury/remote-signer.ts',
    find: "    if (!isAddressEqual(signed, address)) throw new Error('the signer signed for another address')\n",
    replace: '    void signed\n',
    caughtBy: 'payouts',
  },
]

/** Mistakes on the way of money to the treasury. */
const IN: readonly TreasuryMutant[] = [
  {
    name: 'the-nonce-alone-names-a-deposit',
    file: `${DEPOSITS}/take-moves.ts`,
    find: 'if (deposit?.sender === party) {',
    replace: 'if (deposit !== undefined) {',
    caughtBy: 'deposits',
  },
  {
    name: 'a-payment-is-a-deposit-too',
    file: `${DEPOSITS}/take-moves.ts`,
    find: "  if (claim !== undefined) return { kind: 'payment', ref: claim.rid }\n",
    replace: "  if (claim !== undefined && nonce === null) return { kind: 'payment', ref: claim.rid }\n",
    caughtBy: 'deposits',
  },
  {
    name: 'a-deposit-pays-for-a-call-too',
    file: 'control-plane/services/payments/claim-payment.ts',
    find: 'if (await trx.payments.wasMoved(name))',
    replace: 'if ((await trx.payments.wasMoved(name)) && exposure.owed < 0n)',
    caughtBy: 'deposits',
  },
  {
    name: 'any-token-is-credited',
    file: 'control-plane/ports/treasury/rpc-chain-moves.ts',
    find: 'const ours = transfers(came)',
    replace: 'const ours = transfers([...came, ...ofAny])',
    caughtBy: 'deposits',
  },
  {
    name: 'capital-is-booked-over-a-deposit',
    file: `${DEPOSITS}/fund-treasury.ts`,
    find: '        await takeAsCapital(paying.treasury, trx, transaction, place)\n',
    replace: '        void place\n',
    caughtBy: 'deposits',
  },
  {
    name: 'a-stranger-signs',
    file: `${DEPOSITS}/open-deposit.ts`,
    find: "  if (signer?.toLowerCase() !== sender) throw new AppError('invalid_signature')\n",
    replace: '  void signer\n',
    caughtBy: 'deposits',
  },
  {
    name: 'nothing-is-proven',
    file: `${DEPOSITS}/read-moves.ts`,
    find: '  if (cursor.nextBlock > final) await prove(ctx, cursor, hash)\n',
    replace: '',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'credited-at-the-first-block',
    file: `${DEPOSITS}/read-moves.ts`,
    find: 'const final = head.block - BigInt(confirmations) + 1n',
    replace: 'const final = head.block - BigInt(confirmations) + BigInt(confirmations)',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'a-transaction-in-another-block-is-another',
    file: 'control-plane/ports/treasury/rpc-chain-moves.ts',
    find: 'const place = places.get(transfer.transaction) ?? 0',
    replace: 'const place = (places.get(transfer.transaction) ?? 0) + Number(transfer.block % 1_000_000n)',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'a-deposit-is-told-by-the-log-of-its-block',
    file: 'control-plane/ports/treasury/rpc-chain-moves.ts',
    find: 'const place = places.get(transfer.transaction) ?? 0',
    replace: 'const place = places.get(transfer.transaction) ?? transfer.logIndex',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'two-transfers-of-a-transaction-are-one',
    file: 'control-plane/ports/treasury/rpc-chain-moves.ts',
    find: 'places.set(transfer.transaction, place + 1)',
    replace: 'places.set(transfer.transaction, place)',
    caughtBy: 'anybodys-transfers',
  },
  {
    name: 'a-payment-is-final-one-block-early',
    file: 'control-plane/services/payments/finish-payments.ts',
    find: 'head.block - block + 1n < BigInt(ctx.payments.confirmations)',
    replace: 'head.block - block + 2n < BigInt(ctx.payments.confirmations)',
    caughtBy: 'payment-faults',
  },
  {
    // The simulation met it in too few of its seeds.
    name: 'a-payment-whose-block-is-gone-has-left-its-purse',
    file: 'control-plane/services/payments/claim-payment.ts',
    find: '(used.has(nonce) ? [rid] : [])',
    replace: "(used.has(nonce) || open.some((row) => row.rid === rid && row.state === 'mined') ? [rid] : [])",
    caughtBy: 'replaced-chain-payments',
  },
  {
    name: 'whoever-uses-the-proxy-pays-for-a-call',
    file: `${DEPOSITS}/take-moves.ts`,
    find: 'nonce !== null || settlerOf(claim) === permitBy ? claim : undefined',
    replace: 'nonce !== null || settlerOf(claim) !== undefined ? claim : undefined',
    caughtBy: 'anybodys-transfers',
  },
  {
    name: 'what-comes-after-a-release-is-nobodys',
    file: 'control-plane/services/payments/late-arrival.ts',
    find: 'const next = PAYMENT_STATES[state].appear',
    replace: "const next = state === 'released' ? null : PAYMENT_STATES[state].appear",
    caughtBy: 'anybodys-transfers',
  },
  {
    name: 'a-payment-has-any-transfer-of-its-transaction',
    file: 'control-plane/ports/chain/payment-search.ts',
    find: 'transfers.find(({ index }) => index === use.logIndex + 1)?.amount ?? 0n',
    replace: 'transfers.find(({ index }) => index >= 0)?.amount ?? 0n',
    caughtBy: 'anybodys-transfers',
  },
  {
    name: 'blocks-are-read-again-without-a-pause',
    file: `${DEPOSITS}/read-moves.ts`,
    find: 'if (rereadAt !== null && now - rereadAt.getTime() < pauseAfter(misses)) return',
    replace: 'if (rereadAt !== null && now - rereadAt.getTime() < 0 * pauseAfter(misses)) return',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'a-thief-is-not-noticed',
    file: `${DEPOSITS}/take-moves.ts`,
    find: '\n  await holdPayouts(ctx, trx, `chain:',
    replace: '\n  void (`chain:',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'a-mismatch-stops-nothing',
    file: `${DEPOSITS}/reconcile.ts`,
    find: "    if (stopping.length > 0) await holdPayouts(ctx, trx, 'chain:reconciliation')\n",
    replace: '',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'capital-leaves-unbooked',
    file: `${DEPOSITS}/withdraw-capital.ts`,
    find: '{ account: PLATFORM_ACCOUNTS.externalUsdc, amount },',
    replace: '{ account: PLATFORM_ACCOUNTS.fee, amount },',
    caughtBy: 'deposit-faults',
  },
]

/** Mistakes with what accounts are told, and with chains that are not what they were. */
const TOLD: readonly TreasuryMutant[] = [
  {
    name: 'a-deposit-is-told-to-nobody',
    file: `${DEPOSITS}/take-moves.ts`,
    find: '  await tellOfCredit(ctx, trx, account, ',
    replace: '  void tellOfCredit\n  void (',
    caughtBy: 'deposits',
  },
  {
    name: 'blocks-that-are-read-again-are-told-again',
    file: `${DEPOSITS}/tell-of-deposit.ts`,
    find: 'if (isFirst) await',
    replace: 'if (isFirst || MOST_A_DAY > 0) await',
    caughtBy: 'deposits',
  },
  {
    name: 'a-chain-begun-anew-is-the-same',
    file: 'control-plane/services/treasury/known-chain.ts',
    find: 'return head.block >= anchorBlock && isAt',
    replace: 'return head.block >= anchorBlock || isAt',
    caughtBy: 'replaced-chain',
  },
  {
    name: 'old-transactions-are-sent-to-a-new-chain',
    file: `${PAYOUTS}/move-transfers.ts`,
    find: "if ((await attempt('know-chain', () => knowChain(treasury))) === 0)",
    replace: "if ((await attempt('know-chain', () => knowChain(treasury))) === 2)",
    caughtBy: 'replaced-chain',
  },
  {
    name: 'what-came-below-the-proof-is-never-read',
    file: 'control-plane/services/treasury/known-chain.ts',
    find: '  if (await isAt(ctx.chain, provenBlock, provenHash)) return known\n',
    replace: '  if ((await isAt(ctx.chain, provenBlock, provenHash)) || provenBlock >= 0n) return known\n',
    caughtBy: 'deposit-faults',
  },
  {
    name: 'what-a-dead-chain-had-is-sent-to-the-accepted-one',
    file: `${DEPOSITS}/accept-chain.ts`,
    find: 'const buried = await buryChainTransactions(trx)',
    replace: 'const buried = trx === undefined ? await buryChainTransactions(trx) : 0',
    caughtBy: 'replaced-chain',
  },
  {
    name: 'a-chain-is-accepted-while-old-signatures-are-good',
    file: `${DEPOSITS}/accept-chain.ts`,
    find: 'if (until !== undefined) {',
    replace: 'if (until !== undefined && until.getTime() < 0) {',
    caughtBy: 'replaced-chain',
  },
  {
    name: 'the-same-bytes-on-an-accepted-chain-are-known',
    file: 'control-plane/db/treasury-moves.ts',
    find: ', * from unnest(',
    replace: ' * 0, * from unnest(',
    caughtBy: 'replaced-chain',
  },
  {
    name: 'a-deposit-that-is-credited-is-credited-anew',
    file: `${DEPOSITS}/take-moves.ts`,
    find: "deposit: deposit.state === 'credited' ? undefined : deposit.id }",
    replace: "deposit: deposit.state === 'opened' && deposit.amount < 0n ? undefined : deposit.id }",
    caughtBy: 'replaced-chain',
  },
  {
    name: 'payments-are-settled-on-a-chain-begun-anew',
    file: 'control-plane/services/treasury/known-chain.ts',
    find: '  if (await isAt(chain, cursor.anchorBlock, cursor.anchorHash)) return\n',
    replace: '  if ((await isAt(chain, cursor.anchorBlock, cursor.anchorHash)) || cursor.anchorBlock >= 0n) return\n',
    caughtBy: 'replaced-chain-payments',
  },
]

export const TREASURY_MUTANTS: readonly TreasuryMutant[] = [
  ...OUT,
  ...IN,
  ...TOLD,
  ...ALLOWANCE_MUTANTS,
  ...CONTRACT_MUTANTS,
]
