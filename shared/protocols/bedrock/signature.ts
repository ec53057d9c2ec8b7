import { createHash, createHmac } from 'node:crypto'
import type { OutgoingRequest } from '#shared/protocols/protocol.ts'
import type { AccessKey } from './credential.ts'

const ALGORITHM = 'AWS4-HMAC-SHA256'
const SERVICE = 'bedrock'
/** The region of hosts that do not name one: those of development. */
const USUAL_REGION = 'us-east-1'

/** The region in the name of a host of Bedrock. */
function regionOf(host: string): string {
  return /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)$/.exec(host)?.[1] ?? USUAL_REGION
}

/**
 * Signs a request for Bedrock with an access key (AWS Signature Version 4). AWS's own signer is asynchronous; this one
 * adds its headers to a flat list of names and values at once. The path has no query. The signature covers it encoded
 * once more.
 */
export function signRequest(headers: string[], key: AccessKey, request: OutgoingRequest): void {
  const time = new Date(request.at).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  const region = regionOf(request.host)
  const digest = createHash('sha256')
  if (typeof request.body === 'string') digest.update(request.body)
  else for (const piece of request.body) digest.update(piece)
  const bodyHash = digest.digest('hex')
  headers.push('x-amz-content-sha256', bodyHash, 'x-amz-date', time)
  if (key.session_token !== undefined) headers.push('x-amz-security-token', key.session_token)
  const headerLines = signedHeaders(headers, request.host)
  const names = headerLines.map(([name]) => name).join(';')
  const canonical = [
    request.method,
    encoded(request.path).replaceAll('%2F', '/'),
    '',
    ...headerLines.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const scope = `${date}/${region}/${SERVICE}/aws4_request`
  const text = [ALGORITHM, time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const signingKey = [date, region, SERVICE, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${key.secret_access_key}`,
  )
  const signature = hmac(signingKey, text).toString('hex')
  const credential = `${key.access_key_id}/${scope}`
  headers.push('authorization', `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`)
}

/** The host, the type and AWS's own headers. Headers that a proxy may change are not among them. */
function signedHeaders(headers: readonly string[], host: string): readonly (readonly [name: string, value: string])[] {
  const headerLines: [string, string][] = [['host', host]]
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]?.toLowerCase() ?? ''
    if (name === 'content-type' || name.startsWith('x-amz-')) headerLines.push([name, headers[at + 1] ?? ''])
  }
  return headerLines.sort(([one], [other]) => (one < other ? -1 : 1))
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** A text with everything escaped but unreserved characters (RFC 3986, section 2.3). */
export function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
