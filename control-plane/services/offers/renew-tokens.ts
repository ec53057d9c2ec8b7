import type { DueToken, TokenOwner } from '#control-plane/db/credential-tokens.ts'
import { claimDueTokens, listTokenUses, noteTokenFailure, storeToken } from '#control-plane/db/credential-tokens.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { markUnpublished } from '#control-plane/db/snapshot.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { TokenAnswer } from '#control-plane/ports/provider/make-token.ts'
import type { ChosenKey } from '#control-plane/services/providers/provider-key.ts'
import { isAccount } from '#control-plane/services/providers/provider-key.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { accountDocumentName } from '#shared/contract/snapshot.ts'
import type { AccountId, CredentialId } from '#shared/ids.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { Speaker } from '#shared/protocols/index.ts'
import { readServiceAccount } from '#shared/protocols/service-account.ts'
import { openCredential, sealCredential } from '#shared/seal.ts'
import { logHealth } from './health-log.ts'

/** Tokens of one turn, and tokens that are made at once. */
const TOKENS_A_TURN = 20
const AT_ONCE = 4
/**
 * The time of a claim. It exceeds a turn in which every request times out, so no other process makes the same tokens.
 */
const CLAIM_MS = 2 * MINUTE
/** The part of a token's life after which the next one is made. */
const RENEWED_AFTER = 0.75
/** Pauses after consecutive failures: the first, and the longest. */
const FIRST_PAUSE_MS = 15 * SECOND
const MAX_PAUSE_MS = 10 * MINUTE

export type TokenCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log' | 'settings' | 'makeToken' | 'publication'>

/**
 * Makes the access tokens that are due, of all accounts or of one owner's, and publishes the documents that use them.
 * An account without a valid token is left out of the snapshot, and the log of its offers gives the reason. Returns the
 * number of attempts.
 */
export async function renewTokens(ctx: TokenCtx, owner?: TokenOwner): Promise<number> {
  const at = ctx.clock.now()
  const claim = { at, until: at + CLAIM_MS, limit: TOKENS_A_TURN, ...(owner !== undefined && { owner }) }
  const due = await claimDueTokens(ctx.db, claim)
  await inParallel(due, AT_ONCE, (token) =>
    renew(ctx, token).catch((error: unknown) =>
      ctx.log.warn({ err: error, credential: token.credentialId }, 'a token could not be renewed'),
    ),
  )
  return due.length
}

/** Makes the first token of a key that is an account. Its offers go on sale after that. */
export async function makeFirstToken(
  ctx: TokenCtx,
  tenant: AccountId,
  speaker: Speaker,
  key: ChosenKey,
): Promise<void> {
  if (isAccount(speaker, key)) await renewTokens(ctx, { tenant, fingerprint: key.fingerprint })
}

async function renew(ctx: TokenCtx, due: DueToken): Promise<void> {
  const { credentialId: id } = due
  const at = ctx.clock.now()
  const sealed = SealedCredentialSchema.parse(due.sealed)
  const answer = await answerFor(ctx, due)
  if (answer.isMade) {
    const { tenant, host, purpose } = sealed
    const token = {
      sealed: sealCredential(ctx.settings.keyRing, { id, tenant, host, purpose }, answer.token),
      expiresAt: at + answer.lifeMs,
      nextAt: at + Math.ceil(answer.lifeMs * RENEWED_AFTER),
    }
    return publishUses(ctx, await noteChange(ctx, id, (trx) => storeToken(trx, id, token)))
  }
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** due.failures, MAX_PAUSE_MS)
  const endsAt = due.expiresAt?.getTime() ?? 0
  // The former token leaves the snapshot when it expires.
  const nextAt = endsAt > at ? Math.min(at + pauseMs, endsAt) : at + pauseMs
  const failure = { failure: answer.reason, nextAt }
  const uses = await noteChange(ctx, id, (trx) => noteTokenFailure(trx, id, failure))
  if (endsAt <= at) await tell(ctx, uses, answer, nextAt)
  await publishUses(ctx, uses)
}

type Uses = Awaited<ReturnType<typeof listTokenUses>>

/**
 * Stores a change of a token in one transaction with the marks of the buyer policies to publish, so that no crash loses
 * them. Offers need no mark: their fingerprints show the change.
 */
function noteChange(ctx: TokenCtx, id: CredentialId, write: (trx: Trx) => Promise<void>): Promise<Uses> {
  return transact(ctx.db, async (trx) => {
    await write(trx)
    const uses = await listTokenUses(trx, id)
    for (const account of uses.accounts) await markUnpublished(trx, accountDocumentName(account), ctx.clock.now())
    return uses
  })
}

async function answerFor(ctx: TokenCtx, { sealed, baseUrl }: DueToken): Promise<TokenAnswer> {
  const text = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(sealed)).reveal()
  const account = readServiceAccount(text)
  if (account === undefined) return { isMade: false, status: null, reason: 'the saved key is no service account' }
  return ctx.makeToken({ account, baseUrl: new URL(baseUrl) })
}

type Failed = Extract<TokenAnswer, { isMade: false }>

/** Writes the failure to the log of the offers that it takes off the market. */
async function tell(ctx: TokenCtx, { offers }: Uses, { status, reason }: Failed, nextAt: number): Promise<void> {
  const errorClass = status === 400 || status === 401 || status === 403 ? 'credential_rejected' : 'unreachable'
  await logHealth(
    ctx,
    offers.map(({ id, model }) => ({
      offer: id,
      model,
      action: 'backed_off' as const,
      detail: reason,
      errorClass,
      statusCode: status,
      backedOffUntil: nextAt,
    })),
  )
}

async function publishUses({ publication }: TokenCtx, { offers, accounts }: Uses): Promise<void> {
  await publication.publishOffers([...new Set(offers.map(({ model }) => model))])
  if (accounts.length > 0) await publication.publishSoon(accounts.map(accountDocumentName))
}
