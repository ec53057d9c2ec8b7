import { z } from 'zod'
import { DAY, SECOND } from '#shared/clock.ts'
import type { Sandbox, SignInLink } from './sandbox-file.ts'

const MAKE_MS = 5 * SECOND
const Made = z.object({ code: z.string() })

/**
 * Creates links that sign one browser in as the sample buyer, seller and operator. The list is empty when the market
 * cannot create them.
 */
export async function makeSignInLinks(sandbox: Sandbox): Promise<readonly SignInLink[]> {
  const { control_plane_url: door, dashboard_url: page } = sandbox
  const keys = { buyer: sandbox.buyer_key, seller: sandbox.seller_key, operator: sandbox.management_key }
  const makeCode = async (key: string): Promise<string> => {
    const answer = await fetch(`${door}/v1/auth/codes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ valid_seconds: DAY / SECOND }),
      signal: AbortSignal.timeout(MAKE_MS),
    })
    return Made.parse(await answer.json()).code
  }
  const link = async ([side, key]: [string, string]) => ({ side, url: `${page}/sign-in#code=${await makeCode(key)}` })
  // The market runs without them: a key signs in as well.
  return Promise.all(Object.entries(keys).map(link)).catch(() => [])
}
