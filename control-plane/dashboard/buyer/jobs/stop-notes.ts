import { useQuery, useQueryClient } from '@tanstack/react-query'

/** The outcome of each attempt to stop a job, by the job's id. */
export type StopNotes = Readonly<Record<string, string>>

const NOTES = ['stop-notes']
const NO_NOTES: StopNotes = {}

/** Notes beside jobs. They last while the page is open, on every screen, and end with the session. */
export function useStopNotes(): { readonly notes: StopNotes; readonly note: (job: string, text: string) => void } {
  const cache = useQueryClient()
  // No query reads them: the page itself writes them.
  const { data = NO_NOTES } = useQuery<StopNotes>({
    queryKey: NOTES,
    queryFn: () => NO_NOTES,
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  const note = (job: string, text: string) =>
    cache.setQueryData<StopNotes>(NOTES, (notes) => ({ ...notes, [job]: text }))
  return { notes: data, note }
}
