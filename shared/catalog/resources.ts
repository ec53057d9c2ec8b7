import { z } from 'zod'
import { isForwardableHeader } from '#shared/catalog/forwardable-headers.ts'
import { hostOf } from '#shared/catalog/providers.ts'
import { parseUnitPrice } from '#shared/money.ts'
import type { RuleRoot } from '#shared/rules/parse-rule.ts'
import { MAX_RULE_CHARS, parseRule, RuleError, rootsOf } from '#shared/rules/parse-rule.ts'
import { parsePathPattern } from '#shared/rules/path-pattern.ts'
import { oneLine } from '#shared/texts.ts'
import { USAGE_CLASSES } from '#shared/usage.ts'

/**
 * The record of a provider whose accounts sellers lend, or of a family of forwarded calls. As data it holds everything
 * that either plane must know of that provider, so an operator adds one without a release. Records are plain JSON;
 * `shared/resources/` reads them.
 */

/** Forwarded methods. */
export const RESOURCE_METHODS = ['GET', 'POST', 'PUT'] as const
export type ResourceMethod = (typeof RESOURCE_METHODS)[number]

const MAX_HOSTS = 8
const MAX_ROUTES = 64
const MAX_FENCES = 64
const MAX_GOODS = 500
const MAX_FACTS = 16
const MAX_TRAITS = 32
const MAX_HEADERS = 32
const MAX_STATES = 16
const MAX_FILLS = 8
const MAX_RPC_METHODS = 200
/** The most requests in a batch of JSON-RPC. */
export const MAX_RPC_BATCH = 100
const MAX_GOOD_CHARS = 200
/** The name of a good: a model at the provider, or a kind of call. */
export const GoodId = oneLine(MAX_GOOD_CHARS).min(1)

const Slug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/)
const Sentence = oneLine(300).min(1)
const State = oneLine(40)

/** A rule over some of the roots. A record with an invalid rule is refused with the place in it. */
function ruleOver(...roots: readonly RuleRoot[]) {
  return z
    .string()
    .min(1)
    .max(MAX_RULE_CHARS)
    .check((context) => {
      const complain = (message: string) => context.issues.push({ code: 'custom', message, input: context.value })
      try {
        const strange = [...rootsOf(parseRule(context.value))].filter((root) => !roots.includes(root))
        if (strange.length > 0) complain(`${strange.join(', ')} cannot be seen by this rule`)
      } catch (thrown) {
        if (!(thrown instanceof RuleError)) throw thrown
        complain(thrown.message)
      }
    })
}

/** A rule about the request, before anything is sent. */
const RequestRule = ruleOver('body', 'query', 'path', 'size', 'model')
/** A rule about the request that decides the good, so it has no facts of the good yet. */
const GoodRule = ruleOver('body', 'query', 'path')
/** A rule about the answer: the whole of a JSON body, or one event of a stream. */
const AnswerRule = ruleOver('answer', 'header', 'path', 'model')
/** A rule about the answer alone. */
const BareAnswerRule = ruleOver('answer', 'header')
/** A rule about a call with unreported usage: the bytes of its request, and of the received content. */
const EstimateRule = ruleOver('size', 'content', 'path', 'model')

const Pattern = z.string().refine((text) => parsePathPattern(text) !== undefined, 'a path must be a valid pattern')

/**
 * Units that a rule counts, by class. A class with a price at the good costs it; the others are facts for statistics.
 */
const unitRules = (rule: ReturnType<typeof ruleOver>) => z.partialRecord(z.enum(USAGE_CLASSES), rule)

/** A good of a resource, and the provider's price for it. */
const GoodSchema = z.strictObject({
  /** The name by which the rules of routes find it: a model at the provider, or a kind of call. */
  id: GoodId,
  /** US dollars of one unit by usage class, as decimal texts. */
  prices: z
    .partialRecord(z.enum(USAGE_CLASSES), z.string().max(40).refine(isUnitPrice, 'a price must be a decimal number'))
    .refine((prices) => Object.keys(prices).length > 0, 'a good needs a price'),
  /** Numbers that rules find under `model`. */
  facts: z
    .record(z.string().regex(/^[a-z][A-Za-z0-9]{0,31}$/), z.number().min(0).max(1_000_000_000))
    .refine((facts) => Object.keys(facts).length <= MAX_FACTS, `at most ${MAX_FACTS} facts`)
    .default({}),
  /** True for a good that can run for minutes, so that only the queue's routes sell it. */
  mustQueue: z.boolean().default(false),
})

/** The state of a call or job in an answer. A state in neither list means that it is running. */
const StateSchema = z.strictObject({
  at: BareAnswerRule,
  done: z.array(State).max(MAX_STATES).default([]),
  failed: z.array(State).max(MAX_STATES).default([]),
})

/** The name of a member of a JSON body. */
const MemberName = z.string().regex(/^[A-Za-z][\w-]{0,63}$/)

/**
 * A member that is set in a JSON body before it is forwarded: a limit that its buyer left open, so that the quote is
 * affordable, or the request that a stream reports its usage. The buyer's answer names it.
 */
const FillSchema = z.strictObject({
  member: MemberName,
  /** The object at the top of the body that holds it. Absent for the top itself. */
  within: MemberName.optional(),
  /** A boolean, or a rule. */
  value: z.union([z.boolean(), RequestRule]),
  /** Only when the first rule finds a value, and the second finds none. */
  when: GoodRule.optional(),
  unless: GoodRule.optional(),
})

/** Methods of JSON-RPC that are forwarded, each in a class with a price in units of `calls`. */
const RpcSchema = z.strictObject({
  classes: z.record(Slug, z.number().int().min(1).max(10_000)),
  methods: z
    .record(z.string().regex(/^[A-Za-z][\w]{0,79}$/), Slug)
    .refine((methods) => Object.keys(methods).length <= MAX_RPC_METHODS, `at most ${MAX_RPC_METHODS} methods`)
    .refine(
      (methods) => !Object.keys(methods).some(isWritingMethod),
      'a method that writes or signs is never forwarded',
    ),
})

/** The kind of a route, which decides how the market charges its calls. */
const ROUTE_KINDS = [
  /** A call that is paid once its answer has arrived. */
  'sale',
  /** A free call, such as a list of models. */
  'free',
  /** The start of a job at the provider. */
  'submit',
  /** The look-up of a job, of its result, and its cancellation. The job's id is in the path as `{job}`. */
  'status',
  'result',
  'cancel',
] as const

/** Possible calls, and their price. The first route that fits a call applies. */
const RouteSchema = z.strictObject({
  /** The name in scopes, figures and statements: `text-to-image`. */
  id: Slug,
  /** The route's purpose, for a reader. */
  title: oneLine(100).min(1),
  kind: z.enum(ROUTE_KINDS),
  methods: z.array(z.enum(RESOURCE_METHODS)).min(1).max(RESOURCE_METHODS.length),
  /** The role of the host that it is sent to. */
  host: Slug,
  path: Pattern,
  /** The path at the provider if different. It takes the captures of `path`. */
  forwardTo: Pattern.optional(),
  /** The only values that a capture may have. */
  captures: z.record(z.string(), z.array(z.string().max(80)).min(1).max(50)).default({}),
  /** The purchased good: its name, or a rule that finds it. Free routes and those of jobs have neither. */
  good: GoodId.optional(),
  goodAt: GoodRule.optional(),
  /** The most that the call can use. A call without a readable quote is refused. */
  quote: unitRules(RequestRule).optional(),
  /** Members that are set in the request when its buyer left them open. */
  fills: z.array(FillSchema).max(MAX_FILLS).default([]),
  /** Used units that the provider reports. */
  reported: unitRules(AnswerRule).optional(),
  /** Bytes of content in a JSON answer, or in one event of a stream. They are summed up. */
  content: AnswerRule.optional(),
  /** Units that count as used when the provider reports none. Without these rules the quote counts. */
  estimated: unitRules(EstimateRule).optional(),
  /** The state by which a successful answer may still be a failure, or the place of a job's state. */
  state: StateSchema.optional(),
  /** The provider's id of the job that a `submit` starts. */
  jobAt: BareAnswerRule.optional(),
  rpc: RpcSchema.optional(),
})
export type ResourceRoute = z.infer<typeof RouteSchema>

/** Calls that are never made, whatever routes and sellers allow. */
const FenceSchema = z.strictObject({
  methods: z.array(z.enum(RESOURCE_METHODS)).min(1).max(RESOURCE_METHODS.length).optional(),
  /** Absent for every host. */
  host: Slug.optional(),
  path: Pattern,
  /** Absent for every call of the path. With it, only calls in which this rule finds a value are fenced. */
  when: GoodRule.optional(),
  /** The reason, for the reader of a refusal: `Account settings of the lender.` */
  reason: Sentence,
})

/** The evidence of a trait: the seller's declaration, or the probe's answer. */
export const TRAIT_PROVENANCES = ['declared', 'probed'] as const
export type TraitProvenance = (typeof TRAIT_PROVENANCES)[number]
export const TraitName = z
  .string()
  .max(80)
  .regex(/^[a-z][a-z0-9-]*\.[a-z0-9][a-z0-9-]*$/)

const TraitSchema = z.strictObject({
  name: TraitName,
  title: Sentence,
  /** The values by which the probe's answer shows the trait. Without them sellers declare it. */
  shownBy: z.strictObject({ at: BareAnswerRule, isOneOf: z.array(oneLine(80)).min(1).max(MAX_STATES) }).optional(),
})

const ForwardableHeaders = z
  .array(
    z
      .string()
      .regex(/^[a-z0-9-]{1,60}$/)
      .refine(isForwardableHeader, 'this header is never forwarded'),
  )
  .max(MAX_HEADERS)
  .default([])

const HostSchema = z.strictObject({
  /** `api`, `run`, `queue`. */
  role: Slug,
  /** The origin, and in a path-style resource a path before the routes' own; without a trailing slash. */
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .max(300)
    .refine(
      (text) => /^https?:\/\/[^/?#@]+(\/[\w.~-]+)*$/.test(text),
      'a base URL must be an origin, with plain segments behind it',
    ),
})

const RecordSchema = z.strictObject({
  /** Slug in paths, offers and statements: `provider-h`. */
  id: Slug,
  kind: z.enum(['resource', 'family']),
  name: oneLine(100).min(1),
  /** The unit of sale, for a reader: `per image`. */
  unit: oneLine(60).min(1),
  /** `header`: the target is a URL in `x-target-url`. `path`: it follows the resource in the path. */
  style: z.enum(['header', 'path']),
  hosts: z.array(HostSchema).min(1).max(MAX_HOSTS),
  /** The header of the lent key, with the text before it. */
  credential: z.strictObject({
    header: z.string().regex(/^[a-z0-9-]{1,60}$/),
    prefix: z.string().regex(/^[\x21-\x7e]{0,20} ?$/),
  }),
  /** Vendor headers that pass to the provider and back, in addition to those that always do. */
  requestHeaders: ForwardableHeaders,
  answerHeaders: ForwardableHeaders,
  /** A free call that shows whether a key is valid. */
  probe: z.strictObject({
    host: Slug,
    path: z
      .string()
      .max(300)
      .regex(/^\/[\w.~/-]*(\?[\w.~=&-]+)?$/),
    accepts: z.array(z.number().int().min(200).max(499)).min(1).max(8),
  }),
  traits: z.array(TraitSchema).max(MAX_TRAITS).default([]),
  goods: z.array(GoodSchema).max(MAX_GOODS).default([]),
  routes: z.array(RouteSchema).min(1).max(MAX_ROUTES),
  fences: z.array(FenceSchema).max(MAX_FENCES).default([]),
  /** The provider's terms on sharing an account, which a lender confirms to have read. */
  termsUrl: z
    .url({ protocol: /^https$/ })
    .max(500)
    .nullable()
    .default(null),
  /** True while it is on sale. A record that is switched off keeps its offers. */
  isOn: z.boolean().default(true),
})

/** A record with consistent parts. */
export const ResourceSchema = RecordSchema.check((context) => {
  for (const { path, message } of misfitsOf(context.value)) {
    context.issues.push({ code: 'custom', message, path: [...path], input: context.value })
  }
})
export type Resource = z.infer<typeof RecordSchema>
export type ResourceInput = z.input<typeof RecordSchema>
export type ResourceGood = z.infer<typeof GoodSchema>

type MisfitOf = { readonly path: readonly (string | number)[]; readonly message: string }

function* misfitsOf(record: Resource): Generator<MisfitOf> {
  yield* repeated(
    record.hosts.map(({ role }) => role),
    'hosts',
  )
  yield* repeated(
    record.goods.map(({ id }) => id),
    'goods',
  )
  yield* repeated(
    record.routes.map(({ id }) => id),
    'routes',
  )
  yield* repeated(
    record.traits.map(({ name }) => name),
    'traits',
  )
  const roles = new Set(record.hosts.map(({ role }) => role))
  if (!roles.has(record.probe.host)) yield { path: ['probe', 'host'], message: 'no host has this role' }
  for (const [at, { host }] of record.fences.entries()) {
    if (host !== undefined && !roles.has(host)) yield { path: ['fences', at, 'host'], message: 'no host has this role' }
  }
  const hosts = record.hosts.map(({ baseUrl }) => hostOf(baseUrl))
  if (record.style === 'header') {
    // The host alone identifies the role of a target. So no two targets share a host, and nothing precedes the path.
    if (new Set(hosts).size < hosts.length) yield { path: ['hosts'], message: 'two roles share a host' }
    for (const [at, { baseUrl }] of record.hosts.entries()) {
      if (new URL(baseUrl).pathname !== '/')
        yield { path: ['hosts', at, 'baseUrl'], message: 'the base URL must be an origin alone' }
    }
  }
  const goods = new Set(record.goods.map(({ id }) => id))
  for (const [at, route] of record.routes.entries()) {
    for (const misfit of routeMisfits(route, roles, goods)) {
      yield { path: ['routes', at, ...misfit.path], message: misfit.message }
    }
    // The market polls jobs that their buyers forget, so it sells none that it cannot follow.
    const asking = route.kind === 'submit' ? routeOfJob(record.routes, route, 'status') : undefined
    if (route.kind === 'submit' && asking === undefined) {
      yield { path: ['routes', at], message: 'a job needs a GET route of kind status that its path and its id lead to' }
    } else if (route.kind === 'submit' && asking?.state === undefined) {
      yield { path: ['routes', at], message: 'the status route of the job needs a state' }
    }
  }
}

/**
 * The route of a kind that looks up a job of `submit`: the first one that is read, and whose path consists of the
 * captures of the submit's path and the id of the job.
 */
export function routeOfJob<Some extends Pick<ResourceRoute, 'kind' | 'methods' | 'path'>>(
  routes: readonly Some[],
  submit: Pick<ResourceRoute, 'path'>,
  kind: 'status' | 'result' | 'cancel',
): Some | undefined {
  const names = new Set([...namesIn(submit.path), 'job'])
  return routes.find(
    (route) =>
      route.kind === kind &&
      (kind === 'cancel' || route.methods.includes('GET')) &&
      namesIn(route.path).every((name) => names.has(name)),
  )
}

function* routeMisfits(
  route: ResourceRoute,
  roles: ReadonlySet<string>,
  goods: ReadonlySet<string>,
): Generator<MisfitOf> {
  const { kind, rpc, captures } = route
  const names = new Set(namesIn(route.path))
  const isSold = kind === 'sale' || kind === 'submit'
  const goodsGiven = [route.good, route.goodAt].filter((good) => good !== undefined).length
  const pricesGiven = [route.quote, rpc].filter((price) => price !== undefined && Object.keys(price).length > 0).length
  const isOfJob = kind === 'status' || kind === 'result' || kind === 'cancel'
  if (!roles.has(route.host)) yield { path: ['host'], message: 'no host has this role' }
  if (route.good !== undefined && !goods.has(route.good)) yield { path: ['good'], message: 'no good has this id' }
  if (goodsGiven !== (isSold ? 1 : 0)) {
    yield {
      path: ['good'],
      message: 'a route that sells must name its good or determine it by a rule, and no other route may',
    }
  }
  if (pricesGiven !== (isSold ? 1 : 0)) {
    yield { path: ['quote'], message: 'a route that sells needs a quote or JSON-RPC, and no other route may have one' }
  }
  if (!isSold && route.reported !== undefined && kind !== 'result') {
    yield { path: ['reported'], message: 'only a route that sells may report usage' }
  }
  if (kind !== 'sale' && (route.fills.length > 0 || route.estimated !== undefined)) {
    yield { path: ['fills'], message: 'only a route that sells may fill members in and estimate usage' }
  }
  if ((route.content === undefined) !== (route.estimated === undefined)) {
    yield { path: ['estimated'], message: 'an estimate needs the content, and the content is for an estimate alone' }
  }
  if ((kind === 'submit') !== (route.jobAt !== undefined)) {
    yield { path: ['jobAt'], message: 'a submission must name the place of its job id, and no other route may' }
  }
  if (isOfJob && !names.has('job')) yield { path: ['path'], message: 'the path of a job must capture {job}' }
  for (const name of [...Object.keys(captures), ...namesIn(route.forwardTo ?? '/')]) {
    if (!names.has(name)) yield { path: ['path'], message: `the path does not capture {${name}}` }
  }
  for (const [method, name] of Object.entries(rpc?.methods ?? {})) {
    if (rpc !== undefined && !Object.hasOwn(rpc.classes, name)) {
      yield { path: ['rpc', 'methods', method], message: 'no class has this name' }
    }
  }
}

function* repeated(ids: readonly string[], list: string): Generator<MisfitOf> {
  for (const [at, id] of ids.entries()) {
    if (ids.indexOf(id) < at) yield { path: [list, at], message: `${id} is named twice` }
  }
}

function namesIn(pattern: string): readonly string[] {
  return (parsePathPattern(pattern)?.segments ?? []).flatMap((segment) => ('name' in segment ? [segment.name] : []))
}

function isUnitPrice(text: string): boolean {
  try {
    parseUnitPrice(text)
    return true
  } catch {
    return false
  }
}

/** Methods of nodes that change a chain, use a key of the node, or control it. */
const WRITING_METHOD =
  /^(personal|wallet|admin|miner|debug|engine|clique|txpool|les|parity|hardhat|anvil|evm)_|_(send|sign|submit|accounts|coinbase|mining|new|uninstall|subscribe|unsubscribe)|^(send|sign|submit)/i

function isWritingMethod(method: string): boolean {
  return WRITING_METHOD.test(method)
}
