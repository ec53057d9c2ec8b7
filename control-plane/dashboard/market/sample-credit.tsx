import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '#control-plane/dashboard/data/client.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'

type Props = {
  /** Called before the screens read the new balance. */
  readonly onTaken?: () => void
}

/** Takes the credit that a development market gives each account once. */
export function SampleCredit({ onTaken }: Props) {
  const cache = useQueryClient()
  const take = useMutation({
    mutationFn: () => call('POST', '/v1/buyer/sample-credit', {}),
    onSuccess: () => {
      onTaken?.()
      return cache.invalidateQueries()
    },
  })
  return (
    <>
      {take.error === null ? null : <ErrorNotice error={take.error} />}
      <Button kind="primary" disabled={take.isPending} onClick={() => take.mutate()}>
        Add $5 of development credit
      </Button>
    </>
  )
}
