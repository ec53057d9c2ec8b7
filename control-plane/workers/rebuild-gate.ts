import type { RebuildCtx } from '#control-plane/services/gate/gate-rebuild.ts'
import type { SeedCtx } from '#control-plane/services/gate/gate-watch.ts'
import { answerSeedRequests, watchGate } from '#control-plane/services/gate/gate-watch.ts'

/** Starts watching the gate and answering seed requests. The returned function stops both and waits for them. */
export function startRebuildGate(ctx: RebuildCtx & Pick<SeedCtx, 'gate'>): () => Promise<void> {
  const stopping = new AbortController()
  const running = [watchGate(ctx, stopping.signal), answerSeedRequests(ctx, stopping.signal)]
  return async () => {
    stopping.abort()
    await Promise.all(running)
  }
}
