import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Hash } from '@smithy/core/serde'
import { SignatureV4 } from '@smithy/signature-v4'

/** A call of Converse, read from its path. */
export type ConverseCall = { readonly model: string; readonly isStreamed: boolean }

/** An inference profile of Claude: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`. */
const PROFILE = /^(?:[a-z]{2,6}\.)?anthropic\.(.+)-v\d+(?::\d+)?$/

/** Milliseconds by which the time of a signature may differ. */
const MAX_SKEW_MS = 300_000

/** Reads a path of Converse. Undefined for any other. */
export function readConverseCall(path: string): ConverseCall | undefined {
  const [, model, method] = /^\/v1\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path) ?? []
  if (model === undefined) return undefined
  return { model: decodeURIComponent(model).replace(PROFILE, '$1'), isStreamed: method !== 'converse' }
}

/** The secret of an access key of the sample provider. Ids that begin with `AKIABAD` have no valid secret. */
export function sampleSecret(accessKeyId: string): string {
  return createHash('sha256').update(`sample ${accessKeyId}`).digest('hex').slice(0, 40)
}

/** A refusal in AWS's form: its type is in a header. */
export type AmazonRefusal = { readonly status: number; readonly type: string; readonly message: string }

type Signed = { readonly method: string; readonly path: string; readonly headers: IncomingHttpHeaders }

/** Checks the key or the signature of a call, by signing the request again with AWS's own signer. */
export async function refusalOfKey(
  { method, path, headers }: Signed,
  body: Buffer,
): Promise<AmazonRefusal | undefined> {
  const { authorization = '', host = '', 'x-amz-date': date } = headers
  const [, token] = /^Bearer (\S+)$/.exec(authorization) ?? []
  if (token !== undefined) {
    const message = 'Authentication failed: Please make sure your API Key is valid.'
    return token.startsWith('sk-bad') ? { status: 403, type: 'AccessDeniedException', message } : undefined
  }
  const form = /^AWS4-HMAC-SHA256 Credential=(\w+)\/\d{8}\/([\w-]+)\/(\w+)\/aws4_request, SignedHeaders=([\w;-]+), /
  const [, accessKeyId = '', region = '', service = '', names = ''] = form.exec(authorization) ?? []
  const at = typeof date === 'string' ? timeOf(date) : Number.NaN
  if (accessKeyId === '' || service !== 'bedrock' || !names.split(';').includes('host') || Number.isNaN(at)) {
    return { status: 403, type: 'MissingAuthenticationTokenException', message: 'Missing Authentication Token' }
  }
  if (accessKeyId.startsWith('AKIABAD')) {
    const message = 'The security token included in the request is invalid.'
    return { status: 403, type: 'UnrecognizedClientException', message }
  }
  const headerNames = names.split(';').filter((name) => name !== 'x-amz-content-sha256')
  const signer = new SignatureV4({
    service,
    region,
    credentials: { accessKeyId, secretAccessKey: sampleSecret(accessKeyId) },
    sha256: Hash.bind(null, 'sha256'),
    applyChecksum: headerNames.length < names.split(';').length,
  })
  const request = {
    method,
    protocol: 'http:',
    hostname: host,
    path,
    headers: Object.fromEntries(headerNames.map((name) => [name, String(headers[name] ?? '')])),
    body,
  }
  const signed = await signer.sign(request, { signingDate: new Date(at) })
  const isRight = signed.headers['authorization'] === authorization && Math.abs(Date.now() - at) <= MAX_SKEW_MS
  const message = 'The request signature we calculated does not match the signature you provided.'
  return isRight ? undefined : { status: 403, type: 'InvalidSignatureException', message }
}

/** Unix milliseconds of `20260102T030405Z`. */
function timeOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}

/** The header in which AWS names a refusal, with an address behind the name. */
export function amazonType(type: string): { readonly 'x-amzn-errortype': string } {
  return { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` }
}
