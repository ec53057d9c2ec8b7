import { createRoute, createRouter } from '@tanstack/react-router'
import { dayOf, defined, numberOf, oneOf, textOf } from './data/search-params.ts'
import { lazyScreen } from './lazy-screen.ts'
import { DOC_LANGUAGES } from './market/docs/doc-page.ts'
import { readDocs } from './market/docs/read-docs.ts'
import { EFFORTS, MAKINGS, SIZES, VOICES } from './market/playground/choices.ts'
import { OPERATOR_ROUTES } from './operator-routes.tsx'
import { ROOT_ROUTE, rootRoute } from './root-route.tsx'

export const MODEL_SORTS = [
  'volume',
  'requests',
  'discount',
  'price',
  'newest',
  'ttft',
  'tps',
  'uptime',
  'sellers',
] as const
export const MODALITIES = ['text', 'image', 'audio', 'video', 'embedding'] as const
export const PERIODS = ['24h', '7d', '30d', '90d'] as const
export const OFFER_STATES = ['active', 'paused', 'inactive'] as const
const GROUPS = ['none', 'model', 'key', 'provider', 'endpoint'] as const
const FIGURES = ['spent', 'saved', 'calls', 'failed', 'input', 'output', 'cached'] as const
const PERCENT = [0, 100] as const
const MAX_TOKENS = 10_000_000

const DOCS_FRESH_MS = 5 * 60_000
const docs = {
  staleTime: DOCS_FRESH_MS,
  validateSearch: (search: Record<string, unknown>) =>
    defined({
      search: textOf(search, 'search'),
      filter: textOf(search, 'filter'),
      lang: oneOf(search, 'lang', DOC_LANGUAGES),
    }),
  component: lazyScreen(() => import('./market/docs/page.tsx'), 'DocsPage'),
}

const market = [
  createRoute({ getParentRoute: rootRoute, path: '/docs', loader: () => readDocs(''), ...docs }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/docs/$',
    loader: ({ params }) => readDocs(params._splat ?? ''),
    ...docs,
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/',
    component: lazyScreen(() => import('./market/home/page.tsx'), 'HomePage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/models',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        search: textOf(search, 'search'),
        modality: oneOf(search, 'modality', MODALITIES),
        feature: textOf(search, 'feature'),
        context: numberOf(search, 'context', [0, MAX_TOKENS]),
        discount: numberOf(search, 'discount', PERCENT),
        sellers: numberOf(search, 'sellers', [0, 1_000]),
        uptime: numberOf(search, 'uptime', PERCENT),
        sort: oneOf(search, 'sort', MODEL_SORTS),
        reverse: oneOf(search, 'reverse', ['yes']),
        after: textOf(search, 'after'),
        compare: textOf(search, 'compare'),
      }),
    component: lazyScreen(() => import('./market/models/page.tsx'), 'ModelsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/model/$',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        input: numberOf(search, 'input', [0, MAX_TOKENS]),
        output: numberOf(search, 'output', [0, MAX_TOKENS]),
        speed: oneOf(search, 'speed', ['ttft', 'tps']),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./market/model/page.tsx'), 'ModelPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/playground',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        models: textOf(search, 'models'),
        tokens: numberOf(search, 'tokens', [1, 1_000_000]),
        temperature: numberOf(search, 'temperature', [0, 2]),
        topP: numberOf(search, 'topP', [0, 1]),
        effort: oneOf(search, 'effort', EFFORTS),
        voice: oneOf(search, 'voice', VOICES),
        size: oneOf(search, 'size', SIZES),
        seconds: numberOf(search, 'seconds', [1, 600]),
        as: oneOf(search, 'as', MAKINGS),
      }),
    component: lazyScreen(() => import('./market/playground/page.tsx'), 'PlaygroundPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/lent',
    component: lazyScreen(() => import('./market/lent/page.tsx'), 'LentPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/lent/$resource',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        model: textOf(search, 'model'),
        trait: textOf(search, 'trait'),
        floor: numberOf(search, 'floor', PERCENT),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./market/lent-resource/page.tsx'), 'LentResourcePage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/feed',
    validateSearch: (search: Record<string, unknown>) => defined({ days: oneOf(search, 'days', ['1', '7', '30']) }),
    component: lazyScreen(() => import('./market/feed/page.tsx'), 'FeedPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/receipt',
    validateSearch: (search: Record<string, unknown>) => defined({ id: textOf(search, 'id') }),
    component: lazyScreen(() => import('./market/receipt/page.tsx'), 'ReceiptPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/status',
    component: lazyScreen(() => import('./market/status/page.tsx'), 'StatusPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/fees',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ list: textOf(search, 'list'), discount: numberOf(search, 'discount', PERCENT) }),
    component: lazyScreen(() => import('./market/fees/page.tsx'), 'FeesPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/sign-in',
    validateSearch: (search: Record<string, unknown>) => defined({ to: textOf(search, 'to') }),
    component: lazyScreen(() => import('./market/sign-in/page.tsx'), 'SignInPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/unsubscribe',
    component: lazyScreen(() => import('./market/unsubscribe/page.tsx'), 'UnsubscribePage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/start',
    component: lazyScreen(() => import('./market/start/page.tsx'), 'FirstStepsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/terms',
    component: lazyScreen(() => import('./market/terms/page.tsx'), 'TermsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/privacy',
    component: lazyScreen(() => import('./market/privacy/page.tsx'), 'PrivacyPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/join',
    component: lazyScreen(() => import('./market/join/page.tsx'), 'JoinPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/account',
    component: lazyScreen(() => import('./market/account/page.tsx'), 'AccountPage'),
  }),
] as const

const buyer = [
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer',
    validateSearch: (search: Record<string, unknown>) => defined({ period: oneOf(search, 'period', PERIODS) }),
    component: lazyScreen(() => import('./buyer/overview/page.tsx'), 'OverviewPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/logs',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        period: oneOf(search, 'period', PERIODS),
        from: dayOf(search, 'from'),
        to: dayOf(search, 'to'),
        model: textOf(search, 'model'),
        provider: textOf(search, 'provider'),
        outcome: textOf(search, 'outcome'),
        key: textOf(search, 'key'),
        sort: oneOf(search, 'sort', ['time', 'cost', 'tokens', 'duration', 'ttft']),
        reverse: oneOf(search, 'reverse', ['yes']),
        call: textOf(search, 'call'),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./buyer/logs/page.tsx'), 'LogsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/keys',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ after: textOf(search, 'after'), new: oneOf(search, 'new', ['yes']) }),
    component: lazyScreen(() => import('./buyer/keys/page.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/credit',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ after: textOf(search, 'after'), kind: textOf(search, 'kind') }),
    component: lazyScreen(() => import('./buyer/credit/page.tsx'), 'CreditPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/activity',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        period: oneOf(search, 'period', PERIODS),
        from: dayOf(search, 'from'),
        to: dayOf(search, 'to'),
        group: oneOf(search, 'group', GROUPS),
        figure: oneOf(search, 'figure', FIGURES),
        sum: oneOf(search, 'sum', ['yes']),
        hours: oneOf(search, 'hours', ['yes']),
        compare: oneOf(search, 'compare', ['yes']),
        model: textOf(search, 'model'),
        provider: textOf(search, 'provider'),
      }),
    component: lazyScreen(() => import('./buyer/activity/page.tsx'), 'ActivityPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/jobs',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        state: oneOf(search, 'state', ['running', 'succeeded', 'failed', 'cancelled']),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./buyer/jobs/page.tsx'), 'JobsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/limits',
    component: lazyScreen(() => import('./buyer/limits/page.tsx'), 'LimitsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/providers',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        try: oneOf(search, 'try', ['yes']),
        floor: numberOf(search, 'floor', PERCENT),
        only: textOf(search, 'only'),
        block: textOf(search, 'block'),
        order: textOf(search, 'order'),
        untrusted: oneOf(search, 'untrusted', ['yes']),
        sort: oneOf(search, 'sort', ['latency']),
        window: oneOf(search, 'window', ['yesterday']),
      }),
    component: lazyScreen(() => import('./buyer/providers/page.tsx'), 'ProvidersPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/buyer/organizations',
    validateSearch: (search: Record<string, unknown>) => defined({ organization: textOf(search, 'organization') }),
    component: lazyScreen(() => import('./buyer/organizations/page.tsx'), 'OrganizationsPage'),
  }),
] as const

const seller = [
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/start',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ step: oneOf(search, 'step', ['key', 'models', 'terms', 'live']) }),
    component: lazyScreen(() => import('./seller/start/page.tsx'), 'StartPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/offers',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        status: oneOf(search, 'status', OFFER_STATES),
        window: oneOf(search, 'window', ['24h', '7d']),
        sort: oneOf(search, 'sort', ['calls', 'net', 'latency']),
        reverse: oneOf(search, 'reverse', ['yes']),
        model: textOf(search, 'model'),
        columns: textOf(search, 'columns'),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./seller/offers/page.tsx'), 'OffersPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/offers/$offer',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ period: oneOf(search, 'period', ['24h', '7d', '30d']) }),
    component: lazyScreen(() => import('./seller/offer/page.tsx'), 'OfferPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/earnings',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ range: oneOf(search, 'range', ['7d', '30d', '90d']), after: textOf(search, 'after') }),
    component: lazyScreen(() => import('./seller/earnings/page.tsx'), 'EarningsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/payouts',
    component: lazyScreen(() => import('./seller/payouts/page.tsx'), 'PayoutsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/yield',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ model: textOf(search, 'model'), discount: numberOf(search, 'discount', PERCENT) }),
    component: lazyScreen(() => import('./seller/yield/page.tsx'), 'YieldPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/health',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        days: oneOf(search, 'days', ['1', '7', '30']),
        view: oneOf(search, 'view', ['log']),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./seller/health/page.tsx'), 'HealthPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/seller/keys',
    validateSearch: (search: Record<string, unknown>) => defined({ after: textOf(search, 'after') }),
    component: lazyScreen(() => import('./seller/keys/page.tsx'), 'SellerKeysPage'),
  }),
] as const

/** The router of the page. The state of a screen is the search part of its address. */
export function createPageRouter() {
  return createRouter({
    routeTree: ROOT_ROUTE.addChildren([...market, ...buyer, ...seller, ...OPERATOR_ROUTES]),
    defaultPreload: 'intent',
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
