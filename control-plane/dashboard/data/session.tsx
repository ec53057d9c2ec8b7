import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { at } from './answer-of.ts'
import { call, MarketError } from './client.ts'
import type { PageViewerQuery } from './documents/viewer.ts'
import { PageViewerDocument } from './documents/viewer.ts'
import { makePasskey, signWithPasskey } from './passkeys.ts'
import { useScreen } from './use-query.ts'
import { chosenWorkspace, forgetWorkspace, switchWorkspace } from './workspace.ts'

export type ViewerKind = 'nobody' | 'buyer' | 'seller' | 'session' | 'org' | 'operator'
export type PageSide = 'buyer' | 'seller' | 'operator'

const KINDS: readonly ViewerKind[] = ['nobody', 'buyer', 'seller', 'session', 'org', 'operator']
const RECHECK_MS = 60_000
const SIGNED_OUT = 'mkt_signed_out'
/** The kind of the last viewer: no name and no secret. */
const LAST_KIND = 'mkt_last_kind'

export type Viewer = {
  readonly kind: ViewerKind
  readonly user: string | null
  /** Null for an account without a wallet. */
  readonly wallet: string | null
  readonly keyId: string | null
  /** False until the market has said who is signed in. */
  readonly isKnown: boolean
  /** The kind of the last known viewer of this browser. Undefined for a new browser. */
  readonly likely: ViewerKind | undefined
  /** The error of the last read of the viewer. The page reads again by itself. */
  readonly failure: Error | null
  /** Asks again at once. */
  readonly again: () => void
}

/** The viewer who is signed in with this browser. */
export function useViewer(): Viewer {
  const { data, error, failureCount, failureReason, refetch } = useScreen(
    PageViewerDocument,
    {},
    { everyMs: RECHECK_MS },
  )
  // A first failure often passes in a moment. The second one is shown, and the page keeps asking.
  const failure = error ?? (data === undefined && failureCount > 1 ? failureReason : null)
  return { ...viewerOf(data), failure, likely: likelyKind(), again: () => void refetch() }
}

/** The public explorer of the chain; null where the chain has none. */
export function useExplorerUrl(): string | null {
  return useScreen(PageViewerDocument, {}, { everyMs: RECHECK_MS }).data?.service?.explorerUrl ?? null
}

/** The address that reports of problems go to; null where the operator named none. */
export function useSupportEmail(): string | null {
  return useScreen(PageViewerDocument, {}, { everyMs: RECHECK_MS }).data?.service?.supportEmail ?? null
}

function likelyKind(): ViewerKind | undefined {
  const kept = localStorage.getItem(LAST_KIND)
  return KINDS.find((kind) => kind === kept)
}

function viewerOf(data: PageViewerQuery | undefined): Omit<Viewer, 'failure' | 'likely' | 'again'> {
  const viewer = data?.viewer
  const kind = KINDS.find((known) => known === viewer?.kind) ?? 'nobody'
  const { user = null, wallet = null, keyId = null } = viewer ?? {}
  return { kind, user, wallet, keyId, isKnown: data !== undefined }
}

/** Reads everything again after a change of the user, which another tab may have made. */
export function useReadForViewer(): void {
  const cache = useQueryClient()
  const { kind, user, keyId, isKnown, failure } = useViewer()
  useEffect(() => {
    if (isKnown) localStorage.setItem(LAST_KIND, kind)
  }, [isKnown, kind])
  // A workspace that is closed to this reader refuses every call.
  const isShutOut = failure instanceof MarketError && failure.code === 'not_found' && chosenWorkspace() !== undefined
  useEffect(() => {
    if (isShutOut) switchWorkspace(undefined)
  }, [isShutOut])
  const name = kind === 'nobody' ? undefined : `${kind} ${user} ${keyId}`
  const known = useRef(name)
  useEffect(() => {
    const before = known.current
    if (name === undefined || name === before) return
    known.current = name
    if (before !== undefined) void cache.invalidateQueries()
  }, [name, cache])
  useEffect(() => {
    const tabs = new BroadcastChannel(SIGNED_OUT)
    tabs.onmessage = () => {
      forgetWorkspace()
      void cache.resetQueries()
    }
    return () => tabs.close()
  }, [cache])
}

/** True where a viewer may look at a side of the market. */
export function isOfSide({ kind }: Pick<Viewer, 'kind'>, side: PageSide): boolean {
  return kind === side || (kind === 'session' && side !== 'operator')
}

/** The proof that signs this browser in: a key, or the code of a link. */
export type Proof = { readonly key: string } | { readonly code: string }

export function useSignIn() {
  const cache = useQueryClient()
  const renew = useCallback(async () => {
    // Data that another viewer has read must not stay.
    forgetWorkspace()
    await cache.resetQueries()
  }, [cache])
  return {
    withProof: async (proof: Proof) => {
      await call('POST', '/v1/auth/key-session', proof)
      await renew()
    },
    withWallet: async (signed: { readonly message: string; readonly signature: string }) => {
      await call('POST', '/v1/auth/session', signed)
      await renew()
    },
    withPasskey: async () => {
      await call('POST', '/v1/auth/passkey-session', await signWithPasskey())
      await renew()
    },
    withNewPasskey: async () => {
      await call('POST', '/v1/auth/passkey-account', await makePasskey('sign_up'))
      await renew()
    },
    /** Returns the next recovery code. */
    withRecoveryCode: async (code: string) => {
      const next = at(await call('POST', '/v1/auth/recovery-session', { code }), 'recovery_code')
      await renew()
      return typeof next === 'string' ? next : ''
    },
    /** Signs in with the code of a link by e-mail. Another browser than the one that asked has to confirm. */
    withEmailCode: async (code: string, isConfirmed: boolean) => {
      await call('POST', '/v1/auth/email-session', { code, is_confirmed: isConfirmed })
      await renew()
    },
    asSample: async () => {
      await call('POST', '/v1/auth/sample-session', {})
      await renew()
    },
    out: async (kind: ViewerKind) => {
      await call('DELETE', kind === 'session' ? '/v1/auth/session' : '/v1/auth/key-session')
      // A sign-out clears the other tabs as well.
      new BroadcastChannel(SIGNED_OUT).postMessage(kind)
      const wasInWorkspace = chosenWorkspace() !== undefined
      await renew()
      // The live stream of the workspace ends with the page.
      if (wasInWorkspace) location.assign('/')
    },
  }
}
