import { useQuery } from '@tanstack/react-query'
import type { JobFragment } from '#control-plane/dashboard/data/documents/buyer-jobs.ts'
import { usePaidCall } from '#control-plane/dashboard/data/paid-call.ts'
import { filesIn } from '#control-plane/dashboard/market/playground/answer-media.ts'
import { MediaView } from '#control-plane/dashboard/market/playground/media-view.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { ErrorNotice, Notice, Skeleton } from '#control-plane/dashboard/ui/states.tsx'

type FilesProps = { readonly job: JobFragment; readonly url: string; readonly onClose: () => void }

/** The files of a job, to look at and to save. Each opening of the dialog asks for fresh links. */
export function Files({ job, url, onClose }: FilesProps) {
  const name = `job_${job.id}`
  const path = `/v1/${job.kind}/generations/${name}`
  const key = '-H "Authorization: Bearer $MARKET_KEY"'
  const text =
    job.kind === 'video'
      ? `curl -L ${url}/v1/videos/${name}/content \\\n  ${key} -o ${name}.mp4`
      : `curl ${url}${path} \\\n  ${key}`
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title="Files of the job">
      <Links path={path} name={name} url={url} />
      <Code label="Download" text={text} />
      <p className="muted">
        Links expire after 1 hour. The market keeps files for a limited time, so save what you need.
      </p>
    </Dialog>
  )
}

type LinksProps = { readonly path: string; readonly name: string; readonly url: string }

function Links({ path, name, url }: LinksProps) {
  const paid = usePaidCall(url)
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['job files', path],
    queryFn: async ({ signal }) => filesIn(await (await paid(path, { method: 'GET', signal })).json(), name),
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  if (data === undefined || isFetching) return <Skeleton height="12rem" />
  if (data.length === 0)
    return <Notice tone="warn">The files have expired. The market keeps the files of a job for a limited time.</Notice>
  return data.map((media, place) => (
    <MediaView key={media.url} media={media} label={data.length === 1 ? 'File' : `File ${place + 1}`} paid={paid} />
  ))
}
