-- Which endpoints the host of a provider runs, so that calls and offers that it cannot serve are refused before it is asked.

alter table provider
  -- Null stands for every endpoint of the provider's protocol.
  add column endpoints text[] constraint provider_endpoints check (
    cardinality(endpoints) > 0 and endpoints <@ array[
      'chat', 'completions', 'embeddings', 'speech', 'transcription', 'image', 'image-edit', 'video', 'music'
    ]
  );
