import { createRoute } from '@tanstack/react-router'
import { dayOf, defined, oneOf, textOf } from './data/search-params.ts'
import { lazyScreen } from './lazy-screen.ts'
import { rootRoute } from './root-route.tsx'

/** The screens of operators. */
export const OPERATOR_ROUTES = [
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator',
    validateSearch: (search: Record<string, unknown>) => defined({ days: oneOf(search, 'days', ['1', '7', '30']) }),
    component: lazyScreen(() => import('./operator/cockpit/page.tsx'), 'CockpitPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/support',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ find: textOf(search, 'find'), account: textOf(search, 'account'), call: textOf(search, 'call') }),
    component: lazyScreen(() => import('./operator/support/page.tsx'), 'SupportPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/money',
    component: lazyScreen(() => import('./operator/money/page.tsx'), 'MoneyPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/ledger',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        account: textOf(search, 'account'),
        kind: textOf(search, 'kind'),
        reference: textOf(search, 'reference'),
        from: dayOf(search, 'from'),
        to: dayOf(search, 'to'),
        open: textOf(search, 'open'),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./operator/ledger/page.tsx'), 'LedgerPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/configuration',
    validateSearch: (search: Record<string, unknown>) =>
      defined({ name: textOf(search, 'name'), show: oneOf(search, 'show', ['all']) }),
    component: lazyScreen(() => import('./operator/configuration/page.tsx'), 'ConfigurationPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/invariants',
    component: lazyScreen(() => import('./operator/invariants/page.tsx'), 'InvariantsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/catalogue',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        search: textOf(search, 'search'),
        model: textOf(search, 'model'),
        after: textOf(search, 'after'),
        import: oneOf(search, 'import', ['yes']),
      }),
    component: lazyScreen(() => import('./operator/catalogue/page.tsx'), 'CataloguePage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/incidents',
    component: lazyScreen(() => import('./operator/incidents/page.tsx'), 'IncidentsPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/audit',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        operation: textOf(search, 'operation'),
        subject: textOf(search, 'subject'),
        actor: textOf(search, 'actor'),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./operator/audit/page.tsx'), 'AuditPage'),
  }),
  createRoute({
    getParentRoute: rootRoute,
    path: '/operator/offers',
    validateSearch: (search: Record<string, unknown>) =>
      defined({
        model: textOf(search, 'model'),
        provider: textOf(search, 'provider'),
        delisted: oneOf(search, 'delisted', ['yes', 'no']),
        after: textOf(search, 'after'),
      }),
    component: lazyScreen(() => import('./operator/offers/page.tsx'), 'MarketOffersPage'),
  }),
] as const
