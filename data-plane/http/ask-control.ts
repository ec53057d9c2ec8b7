const TIMEOUT_MS = 5_000

/** Asks the control plane for something of a caller's own. Rejects while it is out of reach. */
export function askControl(upstream: string, path: string, authorization: string | undefined): Promise<Response> {
  return fetch(upstream + path, {
    headers: authorization === undefined ? {} : { authorization },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
}
