import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Edited } from './edited.ts'

type SelectionOf<Row> = {
  /** The rows of the page that is shown. */
  readonly shown: readonly Row[]
  /** Reads every row of the filtered list. */
  readonly readAll: () => Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }>
}

/**
 * The offers that a seller selected, on any page of the list. They are read again when their change is opened, because
 * the rows of other pages are not on the screen.
 */
export function useSelection<Row extends Edited>({ shown, readAll }: SelectionOf<Row>) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const [opened, setOpened] = useState<readonly Row[]>()
  const isSelected = ({ id }: Row) => ids.has(id)
  const selectAll = useMutation({
    mutationFn: readAll,
    onSuccess: ({ rows }) => setIds(new Set(rows.map(({ id }) => id))),
  })
  const open = useMutation({
    mutationFn: async () => {
      const onPage = shown.filter(isSelected)
      return onPage.length === ids.size ? onPage : (await readAll()).rows.filter(isSelected)
    },
    onSuccess: setOpened,
  })
  return {
    ids,
    select: (id: string, isOn: boolean) =>
      setIds((now) => new Set(isOn ? [...now, id] : [...now].filter((other) => other !== id))),
    clear: () => setIds(new Set()),
    selectAll: () => selectAll.mutate(),
    /** True for a list with more rows than the page reads: the rest is not selected. */
    isCut: selectAll.data?.isCut === true && ids.size === selectAll.data.rows.length,
    open: () => open.mutate(),
    opened,
    close: () => setOpened(undefined),
    isReading: selectAll.isPending || open.isPending,
    error: selectAll.error ?? open.error,
  }
}

export type Selection = ReturnType<typeof useSelection>
