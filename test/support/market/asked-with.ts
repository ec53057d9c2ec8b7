import { z } from 'zod'
import type { Network } from './network.ts'

const Log = z.object({ requests: z.array(z.looseObject({ path: z.string(), body: z.unknown().optional() })) })

/** The requests with this word in the logs of the sandbox's providers. */
export async function askedWith(network: Network, word: string): Promise<readonly { path: string; body?: unknown }[]> {
  const list = await fetch(`${network.sandbox.api_base_url}/v1/providers`)
  const { providers } = z
    .object({ providers: z.array(z.object({ id: z.string(), base_url: z.string() })) })
    .parse(await list.json())
  // Other files of a shared market start providers of their own, and close them.
  const ours = providers.filter(({ id }) => id.startsWith('sandbox-'))
  const logs = await Promise.all(
    ours.map(async ({ base_url: url }) => Log.parse(await (await fetch(new URL('/__sandbox/requests', url))).json())),
  )
  return logs.flatMap(({ requests }) => requests).filter(({ body }) => JSON.stringify(body ?? null).includes(word))
}
