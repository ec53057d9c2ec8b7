import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageRunInvariantsDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorInvariantsQuery } from '#control-plane/dashboard/data/documents/operator-invariants.ts'
import { OperatorInvariantsDocument } from '#control-plane/dashboard/data/documents/operator-invariants.ts'
import { count, milliseconds, words } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { holdCause } from '#control-plane/dashboard/operator/hold-cause.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, ErrorNotice, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { INVARIANTS } from './invariant-names.ts'

const REFRESH_MS = 15_000

export function InvariantsPage() {
  return (
    <Gate side="operator" title="Invariants">
      <InvariantsScreen />
    </Gate>
  )
}

function InvariantsScreen() {
  const query = useScreen(OperatorInvariantsDocument, {}, { everyMs: REFRESH_MS })
  const curl = curlOf(OperatorInvariantsDocument, {}, true)
  const say = useToast()
  const run = useChange(PageRunInvariantsDocument, {
    onDone: ({ runInvariants: { breaches, failure } }) =>
      say(failure ?? (breaches.length === 0 ? 'Every checked invariant holds.' : `Broken: ${breaches.join(', ')}`)),
  })
  return (
    <Page
      title="Invariants"
      about="Rules that the market’s money always keeps. A checker that shares no code with the market reads the ledger, the gate and the journals. A broken rule stops all payouts."
      actions={
        <Button kind="primary" disabled={run.isPending} onClick={() => run.mutate({})}>
          {run.isPending ? 'Checking…' : 'Run the check'}
        </Button>
      }
    >
      {run.error === null ? null : <ErrorNotice error={run.error} />}
      <Loaded query={query}>
        {({ moneyState }) =>
          moneyState === null ? null : (
            <>
              <Verdict state={moneyState} />
              <List state={moneyState} curl={curl} />
              <Differences state={moneyState} curl={curl} />
              <Runs state={moneyState} curl={curl} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

type MoneyState = NonNullable<OperatorInvariantsQuery['moneyState']>
type Props = { readonly state: MoneyState; readonly curl: string }

function Verdict({ state: { runs, differences, payoutHolds } }: { readonly state: MoneyState }) {
  const [last] = runs
  if (last === undefined) return <Notice tone="warn">The ledger has not been checked yet. Run the check.</Notice>
  const isBad = last.breaches.length > 0 || last.failure !== null || differences.length > 0
  return (
    <Notice tone={isBad ? 'bad' : 'good'}>
      <strong>
        {last.failure ??
          (last.breaches.length > 0
            ? `Broken: ${last.breaches.join(', ')}.`
            : differences.length > 0
              ? 'Two records of the same money differ.'
              : 'Every checked invariant holds.')}
      </strong>
      <span className="small">
        Checked <Ago at={last.startedAt} /> in {milliseconds(last.tookMs)}
      </span>
      {payoutHolds.map(({ id, reason, setAt }) => (
        <Badge key={id} tone="warn">
          Payouts wait since <Time at={setAt} />: {holdCause(reason)}
        </Badge>
      ))}
    </Notice>
  )
}

type Verdict = 'ok' | 'breach' | 'none' | 'tests'
type Line = {
  readonly id: string
  readonly name: string
  readonly holds: string
  readonly verdict: Verdict
  readonly detail: string
  readonly at: number | null
}

/** Each invariant with the newest run that checked it. Tests hold the invariants that no run can check. */
function linesOf(runs: MoneyState['runs']): readonly Line[] {
  const lines = Object.entries(INVARIANTS).map(([id, words]): Line => {
    const run = runs.find(({ findings }) => findings.some((finding) => finding.id === id))
    const finding = run?.findings.find((own) => own.id === id)
    return {
      id,
      ...words,
      verdict: finding?.state ?? 'tests',
      detail: finding?.detail ?? (runs.length === 0 ? 'Not checked yet' : 'Held by tests'),
      at: run?.startedAt ?? null,
    }
  })
  const rank = ({ verdict }: Line) => ORDER.indexOf(verdict)
  return lines.toSorted((left, right) => rank(left) - rank(right))
}

/** The order of the groups: a broken rule is not below the fold. */
const ORDER: readonly Verdict[] = ['breach', 'ok', 'none', 'tests']
const GROUPS = {
  breach: 'Broken',
  ok: 'Passed at the last run',
  none: 'Not checked in a run',
  tests: 'Not in a run yet',
} as const

const VERDICTS = {
  ok: 'passed',
  breach: 'broken',
  none: 'not checked',
  tests: 'not in a run',
} as const

const COLUMNS: readonly Column<Line>[] = [
  { label: 'No.', phone: 'bare', cell: ({ id }) => <code className="nowrap">{id}</code>, text: ({ id }) => id },
  { label: 'Invariant', phone: 'title', cell: ({ name }) => <strong>{name}</strong>, text: ({ name }) => name },
  {
    label: 'Rule',
    phone: 'bare',
    cell: ({ holds }) => <span className="rule">{holds}</span>,
    text: ({ holds }) => holds,
  },
  {
    label: 'Result',
    phone: 'plain',
    cell: ({ verdict }) =>
      verdict === 'breach' ? (
        <Badge tone="bad">{VERDICTS[verdict]}</Badge>
      ) : (
        <span className={verdict === 'ok' ? undefined : 'muted'}>{VERDICTS[verdict]}</span>
      ),
    text: ({ verdict }) => VERDICTS[verdict],
  },
  {
    label: 'Checked',
    phone: 'bare',
    // The detail of a rule that holds repeats the rule, so a phone shows the details of broken rules only.
    cell: ({ detail, verdict }) => (
      <span className={verdict === 'breach' ? 'small' : 'small desk'}>
        {detail.charAt(0).toUpperCase() + detail.slice(1)}
      </span>
    ),
    text: ({ detail }) => detail,
    file: [
      { label: 'Checked', text: ({ detail }) => detail },
      { label: 'Last run', text: ({ at }) => at, unit: 'time' },
    ],
  },
]

function List({ state: { runs }, curl }: Props) {
  return (
    <Card title="All invariants" about="The result of each rule, and what the checker compared" isFlush>
      <Table
        label="Invariants"
        columns={COLUMNS}
        rows={linesOf(runs)}
        keyOf={({ id }) => id}
        groupOf={({ verdict }) => ({ key: verdict, head: GROUPS[verdict] })}
        isRanked
        curl={curl}
        empty={<Empty title="No invariants">{null}</Empty>}
      />
    </Card>
  )
}

type Difference = MoneyState['differences'][number]

const DIFFERENCE_COLUMNS: readonly Column<Difference>[] = [
  { label: 'What differs', cell: ({ kind }) => words(kind), text: ({ kind }) => kind },
  { label: 'Where', phone: 'bare', cell: ({ subject }) => <code>{subject}</code>, text: ({ subject }) => subject },
  timeColumn('First seen', ({ firstSeenAt }) => firstSeenAt, { isNumber: true }),
  {
    label: 'Times seen',
    phone: 'lead',
    isNumber: true,
    cell: ({ timesSeen }) => count(timesSeen),
    text: ({ timesSeen }) => timesSeen,
  },
]

function Differences({ state: { differences }, curl }: Props) {
  return (
    <Card title="Differences now" about="Where two records of the same money disagree" isFlush>
      <Table
        label="Differences"
        columns={DIFFERENCE_COLUMNS}
        rows={differences}
        keyOf={({ kind, subject }) => `${kind} ${subject}`}
        curl={curl}
        empty={
          <Empty title="No differences">
            <p>The ledger, the gate and the chain agree.</p>
          </Empty>
        }
      />
    </Card>
  )
}

type Run = MoneyState['runs'][number]

const RUN_COLUMNS: readonly Column<Run>[] = [
  timeColumn('Started', ({ startedAt }) => startedAt),
  {
    label: 'Result',
    phone: 'plain',
    cell: ({ breaches, failure }) =>
      failure === null && breaches.length === 0 ? (
        'holds'
      ) : (
        <Badge tone="bad">{failure ?? `broken: ${breaches.join(', ')}`}</Badge>
      ),
    text: ({ breaches, failure }) => failure ?? (breaches.length === 0 ? 'holds' : breaches.join(' ')),
  },
  {
    label: 'Took',
    isNumber: true,
    cell: ({ tookMs }) => milliseconds(tookMs),
    text: ({ tookMs }) => tookMs,
    unit: 'ms',
  },
]

function Runs({ state: { runs }, curl }: Props) {
  return (
    <Card title="Last runs" about="Up to 20. The market runs the check by itself every hour" isFlush>
      <Table
        label="Runs"
        columns={RUN_COLUMNS}
        rows={runs}
        most={5}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No run yet">
            <p>Run the check, or wait for the next one.</p>
          </Empty>
        }
      />
    </Card>
  )
}
