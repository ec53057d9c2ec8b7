import { useMutation, useQueryClient } from '@tanstack/react-query'

/** A change of the ways into the account, after which everything is read again. */
export function useWaysChange<Given, Result>(run: (given: Given) => Promise<Result>) {
  const cache = useQueryClient()
  return useMutation({ mutationFn: run, onSuccess: () => cache.invalidateQueries() })
}
