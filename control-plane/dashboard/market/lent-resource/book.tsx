import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type {
  PublicResourceQuery,
  PublicResourceQueryVariables,
} from '#control-plane/dashboard/data/documents/public-resource.ts'
import { PublicResourceDocument } from '#control-plane/dashboard/data/documents/public-resource.ts'
import { percent, words } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { KeptInput } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Badge, Money, Tags } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import type { ShownResource } from './shown-resource.ts'

/** The call that a reader wants to make. */
type Workload = {
  readonly model?: string | undefined
  readonly trait?: string | undefined
  readonly floor?: number | undefined
  readonly after?: string | undefined
}

type Props = {
  readonly data: PublicResourceQuery
  readonly resource: ShownResource
  readonly asked: Workload
  readonly variables: PublicResourceQueryVariables
  readonly onAsk: (workload: Workload) => void
}

/** The lent accounts, best discount first, and which of them can take a call. */
export function Book({ data, resource, asked, variables, onAsk }: Props) {
  const { resourceBook } = data
  const rows = (resourceBook?.edges ?? []).map(({ node }) => node)
  return (
    <Card
      title="Accounts on sale"
      about="Largest discount first. A call takes the first account that can serve it."
      isFlush
    >
      <div className="card-body">
        <Question resource={resource} asked={asked} onAsk={onAsk} />
      </div>
      <Table
        label="Lent accounts"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ id }) => id}
        curl={curlOf(PublicResourceDocument, variables)}
        whole={pagesOf(PublicResourceDocument, variables, (read) => read.resourceBook)}
        empty={
          <Empty title="No lent accounts yet">
            <p>Have a key of this provider? Lend it and earn from its calls.</p>
            <a className="button" href="/docs/sell">
              Learn how to lend a key
            </a>
          </Empty>
        }
        foot={
          <Pager
            after={asked.after}
            next={resourceBook?.pageInfo.endCursor}
            hasNext={resourceBook?.pageInfo.hasNextPage}
            onPage={(after) => onAsk({ after })}
          />
        }
      />
    </Card>
  )
}

const NOTHING = { value: '', label: 'Anything' }

function Question({ resource, asked, onAsk }: Pick<Props, 'resource' | 'asked' | 'onAsk'>) {
  const { model, trait, floor } = asked
  const isAsked = model !== undefined || trait !== undefined || floor !== undefined
  return (
    <Filters>
      <Select
        label="Model or call"
        value={model ?? ''}
        choices={[NOTHING, ...resource.goods.map(({ id }) => ({ value: id, label: id }))]}
        onChange={({ currentTarget: { value } }) => onAsk({ model: value === '' ? undefined : value })}
      />
      <Select
        label="Required trait"
        value={trait ?? ''}
        choices={[NOTHING, ...resource.traits.map(({ name }) => ({ value: name, label: name }))]}
        onChange={({ currentTarget: { value } }) => onAsk({ trait: value === '' ? undefined : value })}
      />
      <KeptInput
        label="Minimum discount, percent"
        type="number"
        min={0}
        max={100}
        step={1}
        value={floor === undefined ? '' : String(floor)}
        onKeep={(text) => onAsk({ floor: text !== '' && Number.isInteger(Number(text)) ? Number(text) : undefined })}
      />
      {isAsked ? (
        <Button onClick={() => onAsk({ model: undefined, trait: undefined, floor: undefined })}>Clear filters</Button>
      ) : null}
    </Filters>
  )
}

const WHY_NOT: Readonly<Record<string, string>> = {
  discount: 'discount too small',
  traits: 'trait missing',
  models: 'model not allowed',
  methods: 'method not allowed',
  paths: 'path not allowed',
  cap: 'daily cap reached',
  health: 'paused after failures',
}

type Line = NonNullable<PublicResourceQuery['resourceBook']>['edges'][number]['node']

const COLUMNS: readonly Column<Line>[] = [
  { label: 'Rank', cell: ({ rank }) => `#${rank}`, text: ({ rank }) => rank },
  {
    label: 'Discount',
    phone: 'lead',
    isNumber: true,
    cell: ({ discountPct }) => percent(discountPct),
    text: ({ discountPct }) => discountPct,
    unit: 'percent',
  },
  {
    label: 'Can serve',
    cell: ({ canServe, whyNot }) =>
      canServe ? (
        'yes'
      ) : (
        <>
          <Badge tone="warn">no</Badge>
          <span className="sub">{WHY_NOT[whyNot ?? ''] ?? words(whyNot ?? '')}</span>
        </>
      ),
    text: ({ canServe, whyNot }) => (canServe ? 'yes' : whyNot),
  },
  {
    label: 'Left today (UTC)',
    isNumber: true,
    cell: ({ capRemainingMicro }) => (capRemainingMicro === null ? 'no cap' : <Money micro={capRemainingMicro} />),
    text: ({ capRemainingMicro }) => capRemainingMicro,
    unit: 'microUsd',
  },
  {
    label: 'Seller rules',
    cell: (line) => {
      const rules = rulesOf(line)
      return rules.length === 0 ? <span className="muted">none</span> : <Tags names={rules} />
    },
    text: (line) => rulesOf(line).join('; '),
  },
  {
    label: 'Traits',
    cell: ({ traits }) =>
      traits.length === 0 ? (
        <span className="muted">none</span>
      ) : (
        <Tags names={traits.map(({ name, provenance }) => (provenance === 'probed' ? `${name} (tested)` : name))} />
      ),
    text: ({ traits }) => traits.map(({ name }) => name).join(' '),
  },
]

function rulesOf({ models, methods, paths, ratePerMinute, buyerSharePct }: Line): readonly string[] {
  return [
    ...(models ?? []),
    ...(methods ?? []),
    ...(paths ?? []),
    ...(ratePerMinute === null ? [] : [`${ratePerMinute} calls per minute`]),
    ...(buyerSharePct === null ? [] : [`${buyerSharePct}% of the cap per buyer`]),
  ]
}
