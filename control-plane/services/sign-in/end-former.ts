import type { Trx } from '#control-plane/db/database.ts'
import { deleteKeySession, deleteSession } from '#control-plane/db/sessions.ts'
import type { Actor } from '#control-plane/operation/actor.ts'

/** Ends the session of a sign-in request, so a cookie is never older than its sign-in. */
export async function endFormer(trx: Trx, actor: Actor): Promise<void> {
  if (actor.kind === 'session') await deleteSession(trx, actor.user, actor.sessionId)
  const { keyId, keySession } = 'keySession' in actor ? actor : {}
  if (keyId && keySession) await deleteKeySession(trx, keyId, keySession)
}
