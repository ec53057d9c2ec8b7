const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * An address of the API as this page can call it and save its files. On loopback the service has two names, and the
 * policy of the page allows its own alone.
 */
export function apiUrlHere(url: string): string {
  if (!URL.canParse(url)) return url
  const { origin, protocol, hostname, port } = new URL(url)
  const isTwin = LOOPBACK.has(hostname) && LOOPBACK.has(location.hostname)
  return isTwin && protocol === location.protocol && port === location.port ? url.replace(origin, location.origin) : url
}
