import type { UseQueryResult } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageCancelJobDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerJobsQuery, JobFragment } from '#control-plane/dashboard/data/documents/buyer-jobs.ts'
import { BuyerJobsDocument } from '#control-plane/dashboard/data/documents/buyer-jobs.ts'
import { count, span, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { SavedViews } from '#control-plane/dashboard/market/saved-views/saved-views.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Badge, Money, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { Files } from './files.tsx'
import { useStopNotes } from './stop-notes.ts'

const REFRESH_MS = 15_000
const TONES = { running: 'info', failed: 'bad', cancelled: 'plain' } as const

const JOB_STATES = ['running', 'succeeded', 'failed', 'cancelled'] as const
const STATES = [
  { value: '', label: 'Any' },
  { value: 'running', label: 'Running' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
]

export function JobsPage() {
  return (
    <Gate side="buyer" title="Jobs">
      <Jobs />
    </Gate>
  )
}

type Job = JobFragment
type JobDialog = { readonly kind: 'cancel' | 'files'; readonly job: Job }

function Jobs() {
  const search = useSearch({ from: '/buyer/jobs' })
  const navigate = useNavigate({ from: '/buyer/jobs' })
  const { state: jobState, after } = search
  const variables = { state: jobState, after }
  const query = useScreen(BuyerJobsDocument, variables, { everyMs: REFRESH_MS })
  const { updates, state, setPaused } = useLive({ kind: 'jobs' })
  const [jobDialog, setAsked] = useState<JobDialog>()
  const { notes, note } = useStopNotes()
  const film = query.data?.films?.edges[0]?.node.id
  const close = () => setAsked(undefined)
  const updateOfJob = new Map<string, Job>((updates?.jobs ?? []).map((job) => [job.id, job]))
  const fresh = (job: Job): Job => updateOfJob.get(job.id) ?? job
  const isNewest = after === undefined && jobState === undefined
  useNewJobs(query, isNewest ? updates?.jobs?.[0]?.id : undefined)
  const rowsOf = (part: BuyerJobsQuery['running']) => (part?.edges ?? []).map(({ node }) => fresh(node))
  return (
    <Page
      title="Jobs"
      about="Videos, music and other long work. We reserve the quoted price and refund what isn't used."
      actions={
        <>
          <LiveMark state={state} onPause={setPaused} />
          {film === undefined ? null : (
            <Link to="/playground" search={{ models: film }} className="button" data-kind="primary">
              Start a video
            </Link>
          )}
        </>
      }
    >
      <JobFilters state={jobState} onChange={(next) => void navigate({ search: { state: next }, replace: true })} />
      <Loaded query={query}>
        {(data) => (
          <>
            <Running
              jobs={rowsOf(data.running).filter((job) => job.state === 'running')}
              notes={notes}
              onAsk={setAsked}
            />
            <Card title={jobState === undefined ? 'All jobs' : 'Jobs'} isFlush>
              <Table
                label="Jobs"
                columns={columnsOf(setAsked)}
                rows={rowsOf(data.jobs)}
                keyOf={({ id }) => id}
                curl={curlOf(BuyerJobsDocument, variables, true)}
                whole={pagesOf(BuyerJobsDocument, variables, (read) => read.jobs)}
                empty={
                  jobState === undefined ? (
                    <NoJobs url={apiUrlHere(data.service?.apiBaseUrl ?? '')} />
                  ) : (
                    <Empty title="No jobs match">
                      <Button onClick={() => void navigate({ search: {} })}>Show all jobs</Button>
                    </Empty>
                  )
                }
                foot={
                  <Pager
                    after={after}
                    next={data.jobs?.pageInfo.endCursor}
                    hasNext={data.jobs?.pageInfo.hasNextPage}
                    onPage={(to) => void navigate({ search: { ...search, after: to } })}
                  />
                }
              />
            </Card>
            {jobDialog?.kind === 'files' ? (
              <Files job={jobDialog.job} url={apiUrlHere(data.service?.apiBaseUrl ?? '')} onClose={close} />
            ) : null}
          </>
        )}
      </Loaded>
      {jobDialog?.kind === 'cancel' ? (
        <Cancel job={jobDialog.job} onNote={(text) => note(jobDialog.job.id, text)} onClose={close} />
      ) : null}
    </Page>
  )
}

type JobState = (typeof JOB_STATES)[number]
type JobFiltersProps = {
  readonly state: JobState | undefined
  readonly onChange: (state: JobState | undefined) => void
}

function JobFilters({ state, onChange }: JobFiltersProps) {
  return (
    <Filters active={state === undefined ? 0 : 1}>
      <Select
        label="State"
        value={state ?? ''}
        choices={STATES}
        onChange={({ currentTarget: { value } }) => onChange(JOB_STATES.find((one) => one === value))}
      />
      <SavedViews screen="jobs" search={{ state }} />
    </Filters>
  )
}

/** A number of units, such as "4 seconds" of `second` and "2 seconds 1080p" of `second_1080p`. */
function unitsText(units: number, unit: string): string {
  const [noun = '', ...rest] = words(unit).split(' ')
  return [count(units), units === 1 ? noun : `${noun}s`, ...rest].join(' ')
}

/** Reads the list again for a job that began after the last read. */
function useNewJobs({ data, refetch }: UseQueryResult<BuyerJobsQuery>, newest: string | undefined): void {
  const isKnown = data?.jobs?.edges.some(({ node }) => node.id === newest) ?? true
  useEffect(() => {
    if (newest !== undefined && !isKnown) void refetch()
  }, [newest, isKnown, refetch])
}

function NoJobs({ url }: { readonly url: string }) {
  return (
    <Empty title="No jobs yet">
      <p>Start a video in the playground, or with this call.</p>
      <Code
        label="Begin a job"
        text={`curl ${url}/v1/videos \\\n  -H "Authorization: Bearer $MARKET_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"model":"sandbox/video-job","prompt":"Waves at night","seconds":4}'`}
      />
    </Empty>
  )
}

type RunningProps = {
  readonly jobs: readonly Job[]
  /** The outcome of each attempt to stop a job, by the job's id. */
  readonly notes: Readonly<Record<string, string>>
  readonly onAsk: (jobDialog: JobDialog) => void
}

/** Jobs that run, each with the time that it has left. */
function Running({ jobs, notes, onAsk }: RunningProps) {
  const now = useNow(1_000)
  if (jobs.length === 0) return null
  const columns: readonly Column<Job>[] = [
    {
      label: 'Model',
      cell: ({ id, model }) => (
        <>
          <ModelLink model={model} />
          <span className="sub" role="status">
            {notes[id] ?? ''}
          </span>
        </>
      ),
      text: ({ model }) => model,
    },
    {
      label: 'Runs for',
      isNumber: true,
      cell: ({ submittedAt }) => span(now - submittedAt),
      text: ({ submittedAt }) => submittedAt,
      unit: 'time',
    },
    {
      label: 'Time left',
      phone: 'lead',
      isNumber: true,
      cell: ({ deadlineAt }) => <span className="nowrap">{leftOf(deadlineAt - now)}</span>,
      text: ({ deadlineAt }) => deadlineAt,
      unit: 'time',
    },
    {
      label: 'Held',
      isNumber: true,
      cell: ({ quoteMicro }) => <Money micro={quoteMicro} />,
      text: ({ quoteMicro }) => quoteMicro,
      unit: 'microUsd',
    },
    {
      label: 'Change',
      cell: (job) => (
        <Button
          kind="danger"
          onClick={() => onAsk({ kind: 'cancel', job })}
          aria-label={`Cancel the job of ${job.model}`}
        >
          Cancel
        </Button>
      ),
    },
  ]
  return (
    <Card title="Running" about="A job that misses its deadline is free" isFlush>
      <Table
        label="Running jobs"
        columns={columns}
        rows={jobs}
        keyOf={({ id }) => id}
        curl={curlOf(BuyerJobsDocument, {}, true)}
        empty={null}
      />
    </Card>
  )
}

const two = (value: number) => value.toString().padStart(2, '0')

/** Hours, minutes and seconds. */
function leftOf(ms: number): string {
  if (ms <= 0) return 'over'
  const seconds = Math.floor(ms / 1_000)
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

function columnsOf(ask: (jobDialog: JobDialog) => void): readonly Column<Job>[] {
  return [
    timeColumn('Started', ({ submittedAt }) => submittedAt, { phone: 'bare' }),
    {
      label: 'Model',
      phone: 'title',
      cell: ({ model, provider }) => (
        <>
          <ModelLink model={model} />
          <span className="sub">{provider ?? ''}</span>
        </>
      ),
      text: ({ model }) => model,
    },
    {
      label: 'State',
      cell: ({ state }) =>
        state === 'succeeded' ? <span className="muted">{state}</span> : <Badge tone={TONES[state]}>{state}</Badge>,
      text: ({ state }) => state,
    },
    {
      label: 'Used',
      isNumber: true,
      cell: ({ units, unit }) => (units === null ? <Unknown /> : unitsText(units, unit ?? '')),
      text: ({ units }) => units,
    },
    {
      label: 'Cost',
      isNumber: true,
      cell: ({ chargeMicro, quoteMicro }) => (
        <>
          {chargeMicro === null ? UNKNOWN : <Money micro={chargeMicro} />}
          {chargeMicro === quoteMicro ? null : (
            <span className="sub">
              at most <Money micro={quoteMicro} />
            </span>
          )}
        </>
      ),
      text: ({ chargeMicro }) => chargeMicro,
      unit: 'microUsd',
    },
    timeColumn('Ended', ({ endedAt }) => endedAt),
    {
      label: 'Files',
      cell: (job) =>
        job.state === 'succeeded' ? (
          <Button onClick={() => ask({ kind: 'files', job })} aria-label={`View files of ${job.id}`}>
            View files
          </Button>
        ) : null,
    },
  ]
}

type CancelProps = {
  readonly job: Job
  /** Shows the outcome beside the job. */
  readonly onNote: (text: string) => void
  readonly onClose: () => void
}

const CANNOT_STOP =
  'The provider cannot stop this job. The job is charged when it ends, or costs nothing past its deadline.'

function Cancel({ job, onNote, onClose }: CancelProps) {
  const say = useToast()
  const cancel = useChange(PageCancelJobDocument, {
    onDone: ({ cancelJob: { state } }) => {
      onClose()
      if (state === 'running') onNote('The provider was asked to stop the job.')
      else say(`The job is ${state}.`)
    },
  })
  const stop = () =>
    cancel.mutate(
      { id: job.id },
      {
        onError: (error) => {
          // The dialog closes, because the provider's protocol has no cancellation.
          if (!(error instanceof MarketError) || error.code !== 'conflict') return
          onNote(CANNOT_STOP)
          onClose()
        },
      },
    )
  return (
    <Confirm
      title="Cancel this job?"
      about={`We ask the provider of ${job.model} to stop. You pay for the part that is finished by then.`}
      lines={[
        { name: 'State', now: job.state, after: 'cancelled' },
        { name: 'Held', now: <Money micro={job.quoteMicro} />, after: 'the unused part comes back' },
      ]}
      action="Cancel the job"
      isDanger
      isBusy={cancel.isPending}
      error={cancel.error}
      onDo={stop}
      onClose={onClose}
    />
  )
}
