const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1'])

/**
 * The address of the API as this page can call it. On loopback the service has two names, and the policy of the page
 * allows calls to its own alone.
 */
export function apiUrlHere(url: string): string {
  if (!URL.canParse(url)) return url
  const { protocol, hostname, port } = new URL(url)
  const isTwin = LOOPBACK.has(hostname) && LOOPBACK.has(location.hostname)
  return isTwin && protocol === location.protocol && port === location.port ? location.origin : url
}
