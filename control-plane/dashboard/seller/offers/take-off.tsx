import { PageDeleteOfferDocument, PageUpdateOfferDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { count } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import type { Edited } from './edited.ts'

type TakeOffProps = {
  readonly offer: Edited
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Asks before an offer leaves the market: what happens to its open calls, and how it comes back. */
export function TakeOff({ offer, onRemoved, onClose }: TakeOffProps) {
  const { id, model, status, recent } = offer
  const remove = useChange(PageDeleteOfferDocument, { onDone: onRemoved })
  return (
    <Confirm
      title={`Take ${model} off the market?`}
      about={`New calls stop within a second. Open calls and jobs finish, and you are paid for them. Your key and terms are kept. ${
        isUndoable(offer) ? 'You can undo this.' : 'Open the offer again to put it on sale.'
      }`}
      lines={[
        { name: 'State', now: status === 'active' ? 'on sale' : status, after: 'off the market' },
        ...(recent === undefined || recent === null
          ? []
          : [{ name: 'Calls', now: `${count(recent.calls)} in the last ${recent.window}`, after: 'none' }]),
      ]}
      action="Take off the market"
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      onDo={() => remove.mutate({ id })}
      onClose={onClose}
    />
  )
}

/** True for an offer whose removal can be undone: one on sale. A paused offer would come back on sale, not paused. */
function isUndoable({ status }: Edited): boolean {
  return status === 'active'
}

type TakenOffProps = { readonly offer: Edited; readonly onDone: () => void }

/** The result of a removal, with a button that puts the offer back on sale. */
export function TakenOff({ offer, onDone }: TakenOffProps) {
  const { id, model } = offer
  const say = useToast()
  const undo = useChange(PageUpdateOfferDocument, {
    onDone: () => {
      onDone()
      say(`${model} is on sale again.`)
    },
  })
  return (
    <Notice tone="good">
      <span>{`${model} is off the market.`}</span>
      {isUndoable(offer) ? (
        <Button disabled={undo.isPending} onClick={() => undo.mutate({ id, input: { status: 'active' } })}>
          Undo
        </Button>
      ) : null}
      <Button kind="quiet" onClick={onDone}>
        Done
      </Button>
      {undo.error === null ? null : <ErrorNotice error={undo.error} />}
    </Notice>
  )
}
