const TIMEOUT_MS = 5_000

/** Requests a caller's own data from the control plane. Rejects while it is out of reach. */
export function askControl(upstream: string, path: string, authorization: string | undefined): Promise<Response> {
  return fetch(upstream + path, {
    headers: authorization === undefined ? {} : { authorization },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
}
