import { isRecord } from '#shared/json-members.ts'
import { headersNamed, LIMIT_HEADERS, PAID_HEADERS, refusalsOf } from './answer-headers.ts'
import type { DocumentRoute } from './control-routes.ts'
import { DATA_ROUTES } from './data-plane/index.ts'
import type { DataRoute } from './data-plane/route.ts'
import type { Components, Json } from './json-schema.ts'
import { describeSchema } from './json-schema.ts'
import { describedQuery, describeParameter } from './parameters.ts'

/** The operations of the data plane. One with a floor in the path is listed twice. */
export function dataRoutes(components: Components): DocumentRoute[] {
  return DATA_ROUTES.flatMap((route) => {
    const { method, path } = route
    const operation = operationOf(components, route)
    const plain = { path, method, operation }
    return route.takesFloor === true ? [plain, withFloor(route, operation)] : [plain]
  })
}

const FLOOR: Json = {
  name: 'floor',
  in: 'path',
  required: true,
  description: 'The minimum discount, in whole percent.',
  schema: { type: 'integer', minimum: 0, maximum: 100 },
  example: 10,
}

function withFloor({ path, method, summary, floorExample }: DataRoute, operation: Json): DocumentRoute {
  const prefix = path.startsWith('/compat') ? '/compat' : ''
  const parameters = Array.isArray(operation['parameters']) ? operation['parameters'] : []
  return {
    path: `${prefix}/min{floor}${path.slice(prefix.length)}`,
    method,
    operation: {
      ...withoutPayment(operation),
      operationId: `${String(operation['operationId'])}.floor`,
      summary: `${summary}, with a minimum discount`,
      parameters: [floorExample === undefined ? FLOOR : { ...FLOOR, example: floorExample }, ...parameters],
    },
  }
}

/** An operation without its ways to pay: crawlers get them from the plain path, so a path with a floor repeats none. */
function withoutPayment({ 'x-payment-info': _, ...operation }: Json): Json {
  return operation
}

function operationOf(components: Components, route: DataRoute): Json {
  const { method, path, tag, summary, description, envelope } = route
  const body = route.body === undefined ? {} : { requestBody: bodyOf(components, route) }
  return {
    operationId: [method, ...path.split(/[^A-Za-z0-9]+/).filter((part) => part !== '')].join('.'),
    tags: [tag],
    summary,
    description,
    security: securityOf(route),
    parameters: [...variablesOf(route), ...queryOf(components, route)],
    ...body,
    responses: { ...goodAnswers(components, route), ...refusalsOf(envelope, route.refusals) },
    ...(isForWallets(route) && { 'x-payment-info': paymentInfo(route) }),
  }
}

/**
 * True for a call that a wallet can pay for and that is announced to crawlers. The catalogue says which calls can be
 * forwarded.
 */
function isForWallets({ isPaid, takesExact, isForwarded, envelope, refusals }: DataRoute): boolean {
  return (isPaid === true || takesExact === true) && isForwarded !== true && envelope === 'v1' && refusals.includes(402)
}

/**
 * The ways to pay for such a call, for crawlers of MPP (`offers`) and of x402 (the rest). The price of a call is in its
 * 402.
 */
function paymentInfo({ path }: DataRoute): Json {
  const isX402Alone = path.startsWith('/x402/')
  const money = { amount: null, currency: 'USDC' }
  return {
    offers: isX402Alone
      ? [{ method: 'x402', intent: 'charge', ...money, description: 'x402, version 2, upto or exact, on eip155:8453' }]
      : [{ method: 'evm', intent: 'charge', ...money, description: 'USDC on chain 8453' }],
    protocols: isX402Alone ? ['x402'] : ['x402', 'mpp'],
    pricingMode: 'dynamic',
    minPrice: '0.001',
    maxPrice: '1.00',
  }
}

function securityOf({ access, envelope, path }: DataRoute): Json[] {
  if (access === 'public') return []
  const isEither = envelope === 'messages' || path === '/v1/route/explain'
  return isEither ? [{ buyerKey: [] }, { messagesKey: [] }] : [{ buyerKey: [] }]
}

function variablesOf({ path, variables = {} }: DataRoute): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: describeParameter(path, name),
    schema: { type: 'string' },
    ...(name in variables ? { example: variables[name] } : {}),
  }))
}

function queryOf(components: Components, { path, query, examples = {} }: DataRoute): Json[] {
  if (query === undefined) return []
  const schema = describeSchema(components, query, { io: 'input', isSnake: false })
  const fields = isRecord(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const [example = {}] = Object.values(examples)
  return Object.entries(fields).map(([name, part]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...describedQuery(path, name, part),
    ...(name in example ? { example: example[name] } : {}),
  }))
}

function bodyOf(components: Components, { body, isForm, isFormToo, examples = {} }: DataRoute): Json {
  const schema = body === undefined ? {} : describeSchema(components, body, { io: 'input', isSnake: false })
  const namedExamples = Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))
  // An example text cannot contain a file.
  if (isForm === true) return { required: true, content: { 'multipart/form-data': { schema } } }
  const form = isFormToo === true ? { 'multipart/form-data': { schema } } : {}
  return { required: true, content: { 'application/json': { schema, examples: namedExamples }, ...form } }
}

function goodAnswers(components: Components, route: DataRoute): Json {
  const content = Object.entries(route.answers).map(([type, schema]) => [
    type,
    { schema: describeSchema(components, schema, { io: 'output', isSnake: false }) },
  ])
  const isCached = route.access === 'public' && !route.path.startsWith('/health')
  const names = [
    ...(route.path.startsWith('/health') ? [] : ['x-request-id']),
    ...(isCached ? ['etag', 'cache-control'] : []),
    ...(route.isPaid === true ? [...PAID_HEADERS, ...LIMIT_HEADERS] : []),
  ]
  const { status = 200 } = route
  return {
    [status]: { description: 'The answer.', headers: headersNamed(names), content: Object.fromEntries(content) },
  }
}
