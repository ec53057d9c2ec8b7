import { AppError } from '#shared/errors.ts'
import { isRecord, scanMembers } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'

/**
 * Members by which gateways at sellers take another address or credential than their own, such as LiteLLM's `api_base`.
 * A buyer who could set one would send a call anywhere with a seller's key, or at the expense of another account.
 * Unknown members may pass to a provider that allows them. These never do.
 */

/** Names of such members without case and separators, in which gateways differ. */
const NAMES: ReadonlySet<string> = new Set([
  'apibase',
  'baseurl',
  'apibaseurl',
  'apiurl',
  'apihost',
  'apiendpoint',
  'apiversion',
  'apitype',
  'endpoint',
  'endpointurl',
  'host',
  'hostname',
  'customhost',
  'serverurl',
  'mcpservers',
  'proxy',
  'proxies',
  'proxyurl',
  'httpproxy',
  'httpsproxy',
  'callbackurl',
  'webhookurl',
  'forwardto',
  'apikey',
  'apikeys',
  'apisecret',
  'secretkey',
  'accesskey',
  'accesskeyid',
  'secretaccesskey',
  'sessiontoken',
  'accesstoken',
  'authtoken',
  'bearertoken',
  'authorization',
  'authorizationtoken',
  'credential',
  'credentials',
  'clientid',
  'clientsecret',
  'tenantid',
  'virtualkey',
  'username',
  'password',
  'serviceaccount',
  'organization',
  'organizationid',
  'orgid',
  'project',
  'projectid',
  'deploymentid',
  'googleapplicationcredentials',
  'headers',
  'extraheaders',
  'defaultheaders',
  'extraquery',
  'defaultquery',
  'customllmprovider',
  'modellist',
])
/** Families of such names, each of one cloud or gateway. */
const FAMILIES = /^(?:aws|azure|vertex|bedrock|sagemaker|watsonx|gcp|oci|litellm|langfuse|portkey)(?!$)/

/**
 * Members that are parsed here, or whose content is the buyer's own: a tool may well have a parameter `api_key`. They
 * are not searched.
 */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'input',
  'prompt',
  'system',
  'instructions',
  'tools',
  'functions',
  'tool_choice',
  'stream',
  'response_format',
  'text',
  'metadata',
  'output_config',
  'prediction',
  'logit_bias',
  'max_tokens',
  'temperature',
  'max_completion_tokens',
  'max_output_tokens',
  'stream_options',
  'stop',
  'top_p',
  'user',
  'provider',
  'file',
])
/** Most members and objects that are searched in one request. */
const MAX_SEARCHED = 4_096
/** A longer text is not parsed as JSON. */
const MAX_TEXT_CHARS = 65_536
const MAX_PARAM_CHARS = 200

type Search = { looksLeft: number }

/**
 * Throws `invalid_request`, naming the member, for a body with a member that names an address or a credential, at any
 * depth. Null counts as absent.
 */
export function refuseElsewhere(body: Readonly<Record<string, unknown>>): void {
  let search: Search | undefined
  for (const name in body) {
    if (KNOWN.has(name)) continue
    search ??= { looksLeft: MAX_SEARCHED }
    refuseMember(search, name, body[name], name)
  }
}

/** The same for a form, whose fields may be named `a[b]` or `a.b`, and may hold JSON. */
export function refuseElsewhereInForm(fields: readonly { readonly name: string; readonly value: string }[]): void {
  const search: Search = { looksLeft: MAX_SEARCHED }
  for (const { name, value } of fields) {
    const parts = name.split(/[.[\]]+/)
    if (KNOWN.has(parts[0] ?? '')) continue
    for (const part of parts) refuseName(search, part, name)
    refuseMember(search, parts[0] ?? '', value, name)
  }
}

function refuseMember(search: Search, name: string, value: unknown, path: string): void {
  if (value === null || value === undefined) return
  refuseName(search, name, path)
  refuseWithin(search, value, path)
}

function refuseWithin(search: Search, value: unknown, path: string): void {
  if (typeof value === 'string') refuseWithin(search, objectIn(value), path)
  else if (Array.isArray(value)) {
    for (const [place, part] of value.entries()) {
      if (typeof part !== 'object') continue
      count(search)
      refuseWithin(search, part, `${path}[${place}]`)
    }
  } else if (isRecord(value)) for (const name in value) refuseMember(search, name, value[name], `${path}.${name}`)
}

/** JSON in a text: some gateways also parse a member that should be an object from its text. */
function objectIn(text: string): unknown {
  if (text.length > MAX_TEXT_CHARS || !/^\s*[[{]/.test(text) || scanMembers(text) === undefined) return undefined
  return parseJson(text)
}

function count(search: Search): void {
  if (search.looksLeft-- > 0) return
  throw new AppError('invalid_request', { message: 'The request has too many members that are not known here.' })
}

function refuseName(search: Search, name: string, path: string): void {
  count(search)
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (!NAMES.has(plain) && !FAMILIES.test(plain)) return
  const param = path.slice(0, MAX_PARAM_CHARS)
  throw new AppError('invalid_request', {
    message: `${param} names another address, account or credential. Sellers never receive one. Leave it out.`,
    param,
  })
}
