import type {
  BuyerRoutingQuery,
  BuyerRoutingQueryVariables,
} from '#control-plane/dashboard/data/documents/buyer-routing.ts'
import { count, evenPercent, milliseconds, money, percent } from '#control-plane/dashboard/data/format.ts'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Badge, Money, Time, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import { Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

type Simulation = NonNullable<BuyerRoutingQuery['routingSimulation']>
type Side = Simulation['present']

type Props = {
  readonly simulation: Simulation
  readonly policy: BuyerRoutingQueryVariables['policy']
  readonly curl: string
}

/**
 * The answer of a simulation: the real cost, the estimate under the present rules, and that under the tried rules.
 */
export function Simulated({ simulation, policy, curl }: Props) {
  const { calls, isWhole, from, to, unknownProviders, byModel } = simulation
  if (calls === 0) {
    return (
      <Empty title="No calls to replay">
        <p>
          Calls that offers of the market served between <Time at={from} /> and <Time at={to} /> are replayed. Choose
          the other day, or make a call.
        </p>
      </Empty>
    )
  }
  return (
    <div className="grid">
      {unknownProviders.length === 0 ? null : (
        <Notice tone="warn">No provider is named {unknownProviders.join(', ')}. That name has no effect here.</Notice>
      )}
      <Figures simulation={simulation} />
      <Table
        label="By rules"
        columns={SIDES}
        rows={sidesOf(simulation)}
        keyOf={({ name }) => name}
        curl={curl}
        empty={null}
      />
      <Table
        label="Simulation by model"
        columns={MODELS}
        rows={byModel}
        most={12}
        keyOf={({ model }) => model}
        curl={curl}
        empty={null}
      />
      <p className="small muted">
        {isWhole ? `All ${count(calls)} calls` : `The newest ${count(calls)} calls`} that market offers served from{' '}
        <Time at={from} /> to <Time at={to} />. Prices, speeds and health are those of the current order book, and daily
        caps start full. Rules of single calls and keys are left out, and so are calls that your own provider keys
        served.
      </p>
      <p className="small">To use these rules for a single call, add this to its body:</p>
      <Code label="The rules in the body of a call" text={bodyOf(policy)} />
    </div>
  )
}

function Figures({ simulation }: { readonly simulation: Simulation }) {
  const { comparedCalls, comparedPresentMicro: before, comparedPolicyMicro: after, calls, present, policy } = simulation
  const change = after - before
  return (
    <Stats
      figures={[
        {
          label: 'Cost against your current rules',
          value: comparedCalls === 0 ? <Unknown /> : <span title={`${change} micro-USD`}>{signed(change)}</span>,
          hint:
            comparedCalls === 0
              ? 'no call is served under both sets of rules'
              : `${before === 0 ? '' : `${change > 0 ? '+' : ''}${percent((change / before) * 100)}, `}over ${count(comparedCalls)} calls that both serve`,
        },
        {
          label: 'First token, median',
          value: policy.ttftMs === null ? <Unknown /> : milliseconds(policy.ttftMs),
          hint:
            present.ttftMs === null
              ? 'providers are not measured yet'
              : `${milliseconds(present.ttftMs)} under your current rules`,
        },
        {
          label: 'Calls without an offer',
          value: percent(policy.unservedPct),
          hint: `${count(policy.unserved)} of ${count(calls)}; ${count(present.unserved)} under your current rules`,
        },
      ]}
    />
  )
}

const signed = (micro: number) => `${micro > 0 ? '+' : micro < 0 ? '−' : ''}${money(Math.abs(micro))}`

type Line = Pick<Side, 'costMicro' | 'listMicro' | 'ttftMs'> & {
  readonly name: string
  readonly about: string
  readonly served: number
  readonly unserved: number | null
}

function sidesOf({ calls, paidMicro, listMicro, paidTtftMs, present, policy }: Simulation): readonly Line[] {
  return [
    {
      name: 'Actual calls',
      about: 'paid and measured',
      served: calls,
      unserved: null,
      costMicro: paidMicro,
      listMicro,
      ttftMs: paidTtftMs,
    },
    { ...present, name: 'Current rules', about: 'estimated' },
    { ...policy, name: 'New rules', about: 'estimated' },
  ]
}

const SIDES: readonly Column<Line>[] = [
  {
    label: 'Rules',
    cell: ({ name, about }) => (
      <>
        {name}
        <span className="sub">{about}</span>
      </>
    ),
    text: ({ name }) => name,
  },
  { label: 'Served', isNumber: true, cell: ({ served }) => count(served), text: ({ served }) => served },
  {
    label: 'No offer',
    isNumber: true,
    cell: ({ unserved }) => (unserved === null ? <Unknown /> : count(unserved)),
    text: ({ unserved }) => unserved,
  },
  {
    label: 'Cost',
    isNumber: true,
    cell: ({ costMicro }) => <Money micro={costMicro} />,
    text: ({ costMicro }) => costMicro,
    unit: 'microUsd',
  },
  {
    label: 'Share saved',
    isNumber: true,
    cell: ({ costMicro, listMicro }) =>
      listMicro === 0 ? <Unknown /> : evenPercent((1 - costMicro / listMicro) * 100),
    text: ({ costMicro, listMicro }) =>
      listMicro === 0 ? null : Math.round((1 - costMicro / listMicro) * 10_000) / 100,
    unit: 'percent',
  },
  {
    label: 'First token, median',
    isNumber: true,
    cell: ({ ttftMs }) => (ttftMs === null ? <Unknown /> : milliseconds(ttftMs)),
    text: ({ ttftMs }) => ttftMs,
    unit: 'ms',
  },
]

const MODELS: readonly Column<Simulation['byModel'][number]>[] = [
  { label: 'Model', cell: ({ model }) => model, text: ({ model }) => model },
  { label: 'Calls', isNumber: true, cell: ({ calls }) => count(calls), text: ({ calls }) => calls },
  {
    label: 'Paid',
    isNumber: true,
    cell: ({ paidMicro }) => <Money micro={paidMicro} />,
    text: ({ paidMicro }) => paidMicro,
    unit: 'microUsd',
  },
  {
    label: 'Current rules',
    isNumber: true,
    cell: ({ presentMicro }) => <Money micro={presentMicro} />,
    text: ({ presentMicro }) => presentMicro,
    unit: 'microUsd',
  },
  {
    label: 'New rules',
    isNumber: true,
    cell: ({ policyMicro, policyUnserved }) => (
      <>
        <Money micro={policyMicro} />
        {policyUnserved === 0 ? null : <Badge tone="warn">{`${count(policyUnserved)} no offer`}</Badge>}
      </>
    ),
    text: ({ policyMicro }) => policyMicro,
    unit: 'microUsd',
  },
  {
    label: 'Main provider',
    cell: ({ policyProvider }) => policyProvider ?? <span className="muted">no provider</span>,
    text: ({ policyProvider }) => policyProvider,
  },
]

/** The rules as members of a call's body. */
function bodyOf(policy: Props['policy']): string {
  const { minDiscountPct, providersOnly, providersBlocked, providerOrder, allowUntrusted, sort } = policy
  const some = (names: typeof providersOnly) => (names == null || names.length === 0 ? undefined : names)
  const provider = {
    only: some(providersOnly),
    ignore: some(providersBlocked),
    order: some(providerOrder),
    sort: sort === 'price' ? undefined : sort,
  }
  const isAny = Object.values(provider).some((value) => value !== undefined)
  return JSON.stringify(
    {
      provider: isAny ? provider : undefined,
      min_discount_pct: minDiscountPct ?? undefined,
      allow_untrusted: allowUntrusted === true ? true : undefined,
    },
    null,
    2,
  )
}
