import type { Reply } from '#dev/provider/reply.ts'
import type { AccountCall } from './account-call.ts'
import { serveChain } from './chain.ts'
import { isProviderHCall, serveProviderH } from './provider-h.ts'
import { serveProviderP1 } from './provider-p1.ts'
import { serveSocial } from './social.ts'

/** Serves the accounts that sellers lend: provider-h, provider-p1, social and crypto-rpc. False for any other call. */
export function serveAccounts(call: AccountCall, reply: Reply): boolean {
  const { path } = call
  if (isProviderHCall(call)) serveProviderH(call, reply)
  else if (path.startsWith('/p1/')) serveProviderP1(call, reply)
  else if (path.startsWith('/social/')) serveSocial(call, reply)
  else if (path.startsWith('/chain/')) void serveChain(call, reply)
  else return false
  return true
}
