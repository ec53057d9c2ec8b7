import { z } from 'zod'
import type { Network } from './network.ts'

const Log = z.object({ requests: z.array(z.looseObject({ path: z.string(), body: z.unknown().optional() })) })

/** The requests with this word in the providers' own logs. */
export async function askedWith(network: Network, word: string): Promise<readonly { path: string; body?: unknown }[]> {
  const list = await fetch(`${network.sandbox.api_base_url}/v1/providers`)
  const { providers } = z.object({ providers: z.array(z.object({ base_url: z.string() })) }).parse(await list.json())
  const ours = providers.filter(({ base_url: url }) => new URL(url).hostname.startsWith('127.'))
  const logs = await Promise.all(
    ours.map(async ({ base_url: url }) => Log.parse(await (await fetch(new URL('/__sandbox/requests', url))).json())),
  )
  return logs.flatMap(({ requests }) => requests).filter(({ body }) => JSON.stringify(body ?? null).includes(word))
}
