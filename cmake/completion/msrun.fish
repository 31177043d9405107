# Whether msrun's own options fit: behind the words of some tools and commands others do.
function __msrun_takes_its_own_options
    not __fish_seen_subcommand_from @own_options@
end
