import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'

/** The most questions about one run. */
const MAX_QUESTIONS = 1_000

const Submitted = z.object({ request_id: z.string(), status_url: z.url(), response_url: z.url() })
const Stated = z.object({ status: z.enum(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']) })

/** The proxy that it talks to, the buyer's key there, and the queue of the provider. */
type Place = { readonly proxy: string; readonly key: string; readonly queue: string }

/**
 * A client of a queue as such providers ship it: it submits, asks the address that the answer names for the state, and
 * fetches the result. It knows its provider's addresses alone, and sends each in `x-target-url` to a proxy.
 */
export function queueClient({ proxy, key, queue }: Place) {
  const call = async (target: string, input?: object) => {
    const answer = await fetch(proxy, {
      method: input === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'x-target-url': target, 'content-type': 'application/json' },
      ...(input !== undefined && { body: JSON.stringify(input) }),
    })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    return { body: await answer.json(), cost: answer.headers.get('x-mkt-buyer-cost-micro') }
  }
  return {
    async subscribe(model: string, input: object, onState: (state: string) => void) {
      const { status_url: statusUrl, response_url: resultUrl } = Submitted.parse(
        (await call(`${queue}/${model}`, input)).body,
      )
      for (let question = 0; question < MAX_QUESTIONS; question++) {
        const { status } = Stated.parse((await call(statusUrl)).body)
        onState(status)
        if (status === 'COMPLETED') {
          const { body: data, cost } = await call(resultUrl)
          return { data: z.unknown().parse(data), cost }
        }
        await nextTurn()
      }
      throw new Error('the run did not end')
    },
  }
}
